package judge

import (
	"slices"
	"strconv"
	"strings"
)

// date is a day; the year is 0 where none was written.
type date struct{ year, month, day int }

const monthNames = "janfebmaraprmayjunjulaugsepoctnovdec"

// parseMonth reads "may", "sept" and "september".
func parseMonth(w string) int {
	if len(w) < 3 || len(w) > 9 {
		return 0
	}
	i := strings.Index(monthNames, w[:3])
	if i < 0 || i%3 != 0 {
		return 0
	}
	full := [...]string{"january", "february", "march", "april", "may", "june", "july", "august", "september",
		"october", "november", "december"}
	if !strings.HasPrefix(full[i/3], w) && w != "sept" {
		return 0
	}
	return i/3 + 1
}

// parseDay reads "3", "03" and "3rd".
func parseDay(w string) int {
	for _, end := range []string{"st", "nd", "rd", "th"} {
		w = strings.TrimSuffix(w, end)
	}
	n, err := strconv.Atoi(w)
	if err != nil || n < 1 || n > 31 || len(w) > 2 {
		return 0
	}
	return n
}

func parseYear(w string) int {
	n, err := strconv.Atoi(w)
	if err != nil || len(w) != 4 {
		return 0
	}
	return n
}

var spans = wordSet("to until till through and or bis au a al tot")

// readDates returns the days that a text names: "May 26th", "26 of May 2024",
// "2024-05-26". All-number forms with the year last are left out: which of
// their numbers is the month depends on the country.
func readDates(list []token) map[date]bool {
	var out map[date]bool
	add := func(y, m, d int) {
		if m < 1 || m > 12 || d == 0 {
			return
		}
		if out == nil {
			out = map[date]bool{}
		}
		out[date{y, m, d}] = true
	}
	at := func(i int) string {
		if i < 0 || i >= len(list) {
			return ""
		}
		return list[i].word
	}
	for i := range list {
		if m := parseMonth(at(i)); m != 0 {
			add(parseYear(at(i+2)), m, parseDay(at(i+1)))
			if at(i-1) == "of" {
				add(parseYear(at(i+1)), m, parseDay(at(i-2)))
			} else {
				add(parseYear(at(i+1)), m, parseDay(at(i-1)))
				if first := parseDay(at(i - 2)); first != 0 { // "5-8 December"
					add(parseYear(at(i+1)), m, first)
				} else if spans[at(i-2)] { // "5 to 8 December"
					add(parseYear(at(i+1)), m, parseDay(at(i-3)))
				}
			}
		}
		if y := parseYear(at(i)); y != 0 && len(at(i+1)) == 2 {
			if d := parseDay(strings.TrimRight(leadingDigits(at(i+2)), " ")); d != 0 {
				add(y, parseDay(at(i+1)), d)
			}
		}
	}
	return out
}

// leadingDigits cuts the time off "26t10".
func leadingDigits(w string) string {
	for i := range len(w) {
		if w[i] < '0' || w[i] > '9' {
			return w[:i]
		}
	}
	return w
}

// parseISODate reads a value that begins with year, month and day.
func parseISODate(v string) (date, bool) {
	if len(v) < 10 || v[4] != '-' || v[7] != '-' || len(v) > 32 {
		return date{}, false
	}
	y, m, d := parseYear(v[:4]), parseDay(v[5:7]), parseDay(v[8:10])
	return date{y, m, d}, y != 0 && m != 0 && m <= 12 && d != 0
}

// findOtherDate looks for a call that begins on a day which is none of those in the
// request. Where a word of it counts days ("tomorrow", "the day before"),
// nothing can be said; when something ends is computed as often as quoted.
func findOtherDate(v *view) finding {
	var f finding
	if v.request == nil || !v.p.changes {
		return f
	}
	in := v.statedIn(func(t *text) bool { return len(t.dates) > 0 })
	if len(in.dates) == 0 || in.relative || v.own.relative || v.own.delegates {
		return f
	}
	for name, val := range v.c.Parsed() {
		s, ok := val.(string)
		if !ok || !v.s.Declares(name) || !isAny(splitName(name), beginNames) || isAny(splitName(name), endNames) {
			continue
		}
		if s = foldText(strings.TrimSpace(s)); !in.hasDay(s) {
			f.add(name)
		}
	}
	slices.Sort(f.args)
	return f
}

var (
	beginNames = wordSet("start begin date day when from due departure checkin")
	endNames   = wordSet("end until return checkout birth created updated")
)

var dayWords = wordSet(`today tomorrow yesterday tonight next last this week weeks weekend month months year day days daily weekly before
	after later earlier ago until within following monday tuesday wednesday thursday friday saturday sunday same birthday`)
