package grammar

import (
	"strconv"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel/intent"
)

// calendar are the words of dates in an operator's languages.
type calendar struct {
	numberWords
	months        map[string]int
	weekdays      map[string]time.Weekday
	spans, todays map[string]int64 // in days
	in            map[string]bool
	monthFirst    bool
}

// date is a day in a text. An invalid one was written as a date and is none.
type date struct {
	day      time.Time
	invalid  bool
	from, to int
}

// dateAt reads the date that begins at token i.
func (c *calendar) dateAt(t tokens, i int, today time.Time) (date, bool) {
	for _, read := range dateForms {
		if d, ok := read(c, t, i, today); ok {
			d.from = i
			if d.invalid = d.invalid || d.day.IsZero(); !d.invalid {
				_, err := intent.ParseDay(d.day.Format(time.DateOnly))
				d.invalid = err != nil
			}
			return d, true
		}
	}
	return date{}, false
}

// dateForms read the forms of dates, in the order in which they are tried.
var dateForms = []func(*calendar, tokens, int, time.Time) (date, bool){
	(*calendar).isoAt, (*calendar).dottedAt, (*calendar).dayMonthAt, (*calendar).monthDayAt, (*calendar).spanAt, (*calendar).wordDayAt,
}

// makeDay returns a date that is on the calendar, the zero time otherwise.
func makeDay(year, month, day int) time.Time {
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if t.Year() != year || int(t.Month()) != month || t.Day() != day {
		return time.Time{}
	}
	return t
}

// isoAt reads 2026-12-31.
func (c *calendar) isoAt(t tokens, i int, _ time.Time) (date, bool) {
	if i+4 >= len(t) || len(t[i].text) != 4 || !t.isMark(i+1, "-") || !t.isMark(i+3, "-") {
		return date{}, false
	}
	if !isNumber(t[i]) || !isNumber(t[i+2]) || !isNumber(t[i+4]) {
		return date{}, false
	}
	return date{day: makeDay(atoi(t[i].text), atoi(t[i+2].text), atoi(t[i+4].text)), to: i + 5}, true
}

// dottedAt reads 31.12.2026 and 12/31/2026. Where both orders are days, the configured one counts.
func (c *calendar) dottedAt(t tokens, i int, today time.Time) (date, bool) {
	if i >= len(t) || t[i].kind != figures {
		return date{}, false
	}
	parts, to := strings.Split(t[i].text, "."), i+1
	dotted := len(parts) == 3 || len(parts) == 2 && i+1 < len(t) && t[i+1].text == "." // 31.12.
	if !dotted {
		parts, to = []string{t[i].text}, i+1
		for n := 0; n < 2 && t.isMark(to, "/") && to+1 < len(t) && isNumber(t[to+1]); n++ {
			parts, to = append(parts, t[to+1].text), to+2
		}
	}
	if len(parts) < 2 || len(parts[0]) > 2 || len(parts[1]) > 2 || !areDigits(parts) {
		return date{}, false
	}
	day, month := atoi(parts[0]), atoi(parts[1])
	if !dotted && (c.monthFirst && month <= 31 && day <= 12 || month > 12 && day <= 12) {
		day, month = month, day
	}
	if len(parts) == 3 {
		year := atoi(parts[2])
		if year < 100 {
			year += 2000
		}
		return date{day: makeDay(year, month, day), to: to}, true
	}
	if !dotted {
		return date{}, false // 1/2 is a half
	}
	return date{day: nextSuch(today, month, day), to: to + 1}, true
}

// nextSuch returns the first such day from today on, the zero time where no year has it.
func nextSuch(today time.Time, month, day int) time.Time {
	for year := today.Year(); year <= today.Year()+4; year++ {
		if d := makeDay(year, month, day); !d.IsZero() && !d.Before(today) {
			return d
		}
	}
	return time.Time{}
}

// dayMonthAt reads 31 December 2026, 31st of December, 31. Dezember, 3 de marzo.
func (c *calendar) dayMonthAt(t tokens, i int, today time.Time) (date, bool) {
	if i >= len(t) || !isNumber(t[i]) || len(t[i].text) > 2 {
		return date{}, false
	}
	j := i + 1
	for j < len(t) && (betweenDayAndMonth[t[j].text] || !t[j].spaced && ordinalEndings[t[j].text]) {
		j++
	}
	if j >= len(t) || c.months[t[j].text] == 0 {
		return date{}, false
	}
	return c.withYear(t, j+1, c.months[t[j].text], atoi(t[i].text), today)
}

// monthDayAt reads December 31, 2026 and December 31st.
func (c *calendar) monthDayAt(t tokens, i int, today time.Time) (date, bool) {
	if i+1 >= len(t) || c.months[t[i].text] == 0 || !isNumber(t[i+1]) || len(t[i+1].text) > 2 {
		return date{}, false
	}
	j := i + 2
	if j < len(t) && !t[j].spaced && ordinalEndings[t[j].text] {
		j++
	}
	return c.withYear(t, j, c.months[t[i].text], atoi(t[i+1].text), today)
}

var (
	ordinalEndings     = words("st nd rd th er")
	betweenDayAndMonth = words(". de of the")
)

// withYear reads the year behind a day and a month, if there is one.
func (c *calendar) withYear(t tokens, i, month, day int, today time.Time) (date, bool) {
	j := i
	if t.isMark(j, ",") || j < len(t) && (t[j].text == "de" || t[j].text == "del") {
		j++
	}
	if j < len(t) && isNumber(t[j]) && len(t[j].text) == 4 {
		return date{day: makeDay(atoi(t[j].text), month, day), to: j + 1}, true
	}
	return date{day: nextSuch(today, month, day), to: i}, true
}

// spanAt reads in 3 days, within two weeks.
func (c *calendar) spanAt(t tokens, i int, today time.Time) (date, bool) {
	if !t.is(i, c.in) {
		return date{}, false
	}
	n, ok := c.numberAt(t, i+1)
	if !ok || n.to >= len(t) || c.spans[t[n.to].text] == 0 {
		return date{}, false
	}
	days := multiply(n.minor/100, c.spans[t[n.to].text])
	if n.negative || !n.isWhole() || days > 365*100 {
		return date{invalid: true, to: n.to + 1}, true
	}
	return date{day: today.AddDate(0, 0, int(days)), to: n.to + 1}, true
}

// wordDayAt reads tomorrow, Friday, next Friday.
func (c *calendar) wordDayAt(t tokens, i int, today time.Time) (date, bool) {
	if i >= len(t) || t[i].kind != word {
		return date{}, false
	}
	if days, ok := c.todays[t[i].text]; ok {
		return date{day: today.AddDate(0, 0, int(days)), to: i + 1}, true
	}
	if day, ok := c.weekdays[t[i].text]; ok {
		ahead := (int(day) - int(today.Weekday()) + 7) % 7
		if ahead == 0 {
			ahead = 7
		}
		return date{day: today.AddDate(0, 0, ahead), to: i + 1}, true
	}
	return date{}, false
}

// isNumber reports whether a token is a run of figures alone.
func isNumber(t token) bool { return t.kind == figures && areDigits([]string{t.text}) }

func areDigits(list []string) bool {
	for _, s := range list {
		if s == "" || len(s) > 4 || strings.ContainsFunc(s, func(r rune) bool { return !isDigit(r) }) {
			return false
		}
	}
	return true
}

// atoi reads a number of at most four figures.
func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
