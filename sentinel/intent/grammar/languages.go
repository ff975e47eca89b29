package grammar

import (
	_ "embed" // the words are a file, which is easier to read and to add to
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed languages.txt
var languagesText string

// language are the words of a language by what they are for. See languages.txt.
type language map[string][]string

// compounds is the line of a language whose numbers may be one word.
const compounds = "compounds"

// allLanguages are the languages by their codes.
var allLanguages = sync.OnceValue(func() map[string]language {
	out := map[string]language{}
	var last language
	for line := range strings.Lines(languagesText) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
		case fields[0] == "language":
			last = language{}
			out[fields[1]] = last
		default:
			last[fields[0]] = append(last[fields[0]], fields[1:]...)
		}
	}
	return out
})

// Languages lists the languages whose numbers, dates and small words are known.
func Languages() []string { return slices.Sorted(maps.Keys(allLanguages())) }

// asSet is the words for one thing as a set.
func (l language) asSet(what string) map[string]bool {
	out := map[string]bool{}
	for _, w := range l[what] {
		out[w] = true
	}
	return out
}

// asNumbers is the words for one thing with their numbers.
func (l language) asNumbers(what string) map[string]int64 {
	out := map[string]int64{}
	for _, field := range l[what] {
		name, value, _ := strings.Cut(field, "=")
		out[name], _ = strconv.ParseInt(value, 10, 64) // our own file
	}
	return out
}

// asPlaces is the words for one thing with their places, from 1.
func (l language) asPlaces(what string) map[string]int {
	out := map[string]int{}
	for i, field := range l[what] {
		for name := range strings.SplitSeq(field, "/") {
			out[name] = i + 1
		}
	}
	return out
}

// addLanguage adds the words of a language.
func (g *Grammar) addLanguage(l language) {
	for what, to := range map[string]map[string]int64{"units": g.units, "scales": g.multipliers, "spans": g.spans, "today": g.todays} {
		maps.Copy(to, l.asNumbers(what))
	}
	for what, to := range map[string]map[string]bool{
		"links": g.links, "articles": g.articles, "negations": g.negations, "budget": g.budget, "deadline": g.deadline, "in": g.in,
		"words": g.lengthWords, "top": g.top, "site": g.site, "pronouns": g.pronouns, "stops": g.stops,
	} {
		maps.Copy(to, l.asSet(what))
	}
	for _, field := range l["about"] {
		g.about = append(g.about, strings.Split(field, "_"))
	}
	maps.Copy(g.months, l.asPlaces("months"))
	for name, place := range l.asPlaces("days") {
		g.weekdays[name] = time.Weekday(place % 7)
	}
	_, joined := l[compounds]
	g.compounds = g.compounds || joined
}

// germanParts are the parts of a German number that is one word, by their first letter, the longest first.
var germanParts = func() (out [256][]numberPart) {
	list := []numberPart{
		{"million", 1_000_000, true}, {"tausend", 1000, true}, {"hundert", 100, true},
		{"zwanzig", 20, false}, {"dreissig", 30, false}, {"vierzig", 40, false}, {"funfzig", 50, false}, {"sechzig", 60, false},
		{"siebzig", 70, false}, {"achtzig", 80, false}, {"neunzig", 90, false}, {"sechzehn", 16, false}, {"siebzehn", 17, false},
		{"dreizehn", 13, false}, {"vierzehn", 14, false},
		{"funfzehn", 15, false}, {"achtzehn", 18, false}, {"neunzehn", 19, false}, {"zwolf", 12, false}, {"zehn", 10, false}, {"elf", 11, false},
		{"eins", 1, false}, {"ein", 1, false}, {"zwei", 2, false}, {"drei", 3, false}, {"vier", 4, false}, {"funf", 5, false},
		{"sechs", 6, false},
		{"sieben", 7, false}, {"acht", 8, false}, {"neun", 9, false}, {"und", 0, false},
	}
	slices.SortStableFunc(list, func(a, b numberPart) int { return len(b.text) - len(a.text) })
	for _, p := range list {
		out[p.text[0]] = append(out[p.text[0]], p)
	}
	return out
}()

// numberPart is a part of a number that is one word.
type numberPart struct {
	text    string
	value   int64
	isScale bool
}

// readGerman reads a German number that is one word: zweitausendfunfhundert, dreiundzwanzig.
func readGerman(s string) (int64, bool) {
	total, group := int64(0), int64(0)
	for s != "" {
		parts := germanParts[s[0]]
		i := slices.IndexFunc(parts, func(p numberPart) bool { return strings.HasPrefix(s, p.text) })
		if i < 0 {
			return 0, false
		}
		p := parts[i]
		s = s[len(p.text):]
		switch {
		case p.isScale && p.value == 100:
			group = max(group, 1) * 100
		case p.isScale:
			total, group = total+max(group, 1)*p.value, 0
		default:
			group += p.value
		}
	}
	return total + group, total+group > 0
}
