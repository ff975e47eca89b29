package judge

import (
	"strconv"
	"strings"
)

// date is a day; the year is 0 where none was written.
type date struct{ year, month, day int }

const monthNames = "janfebmaraprmayjunjulaugsepoctnovdec"

// month reads "may", "sept" and "september".
func month(w string) int {
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

// day reads "3", "03" and "3rd".
func day(w string) int {
	for _, end := range []string{"st", "nd", "rd", "th"} {
		w = strings.TrimSuffix(w, end)
	}
	n, err := strconv.Atoi(w)
	if err != nil || n < 1 || n > 31 || len(w) > 2 {
		return 0
	}
	return n
}

func year(w string) int {
	n, err := strconv.Atoi(w)
	if err != nil || len(w) != 4 {
		return 0
	}
	return n
}

var spans = set("to until till through and or bis au a al tot")

// datesIn returns the days that a text names: "May 26th", "26 of May 2024",
// "2024-05-26". All-number forms with the year last are left out: which of
// their numbers is the month depends on the country.
func datesIn(list []token) map[date]bool {
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
		if m := month(at(i)); m != 0 {
			add(year(at(i+2)), m, day(at(i+1)))
			if at(i-1) == "of" {
				add(year(at(i+1)), m, day(at(i-2)))
			} else {
				add(year(at(i+1)), m, day(at(i-1)))
				if first := day(at(i - 2)); first != 0 { // "5-8 December"
					add(year(at(i+1)), m, first)
				} else if spans[at(i-2)] { // "5 to 8 December"
					add(year(at(i+1)), m, day(at(i-3)))
				}
			}
		}
		if y := year(at(i)); y != 0 && len(at(i+1)) == 2 {
			if d := day(strings.TrimRight(firstDigits(at(i+2)), " ")); d != 0 {
				add(y, day(at(i+1)), d)
			}
		}
	}
	return out
}

// firstDigits cuts the time off "26t10".
func firstDigits(w string) string {
	for i := range len(w) {
		if w[i] < '0' || w[i] > '9' {
			return w[:i]
		}
	}
	return w
}

// isoDate reads a value that begins with year, month and day.
func isoDate(v string) (date, bool) {
	if len(v) < 10 || v[4] != '-' || v[7] != '-' || len(v) > 32 {
		return date{}, false
	}
	y, m, d := year(v[:4]), day(v[5:7]), day(v[8:10])
	return date{y, m, d}, y != 0 && m != 0 && m <= 12 && d != 0
}

// hasDay takes another year for a slip.
func (t *text) hasDay(v string) bool {
	d, ok := isoDate(v)
	for have := range t.dates {
		ok = ok && (have.month != d.month || have.day != d.day)
	}
	return !ok
}

func (t *text) hasDate(v string) bool {
	d, ok := isoDate(v)
	return ok && (t.dates[d] || t.dates[date{0, d.month, d.day}])
}
