package evidence

import (
	"strconv"
	"strings"
)

// day is a day; year is 0 where none is written.
type day struct{ year, month, day int }

// months are the first letters of their names in the languages that are read.
var months = map[string]int{
	"jan": 1, "ene": 1, "gen": 1, "feb": 2, "fev": 2, "mar": 3, "apr": 4, "avr": 4, "abr": 4, "may": 5, "mai": 5, "mag": 5,
	"jun": 6, "giu": 6, "jul": 7, "lug": 7, "aug": 8, "aou": 8, "ago": 8, "sep": 9, "set": 9, "oct": 10, "okt": 10, "ott": 10, "out": 10,
	"nov": 11, "dec": 12, "dez": 12, "dic": 12,
}

// monthNames are the words that are months; others only begin like one.
var monthNames = wordSet(`jan january januar janvier enero gennaio janeiro feb february februar fevrier febrero febbraio fevereiro mar march
	marz mars marzo marco apr april avril abril aprile may mai mayo maggio maio jun june juni juin junio giugno junho jul july juli
	juillet julio luglio julho aug august aout agosto ago sep sept september septembre septiembre settembre setembro oct october oktober
	okt octobre octubre ottobre outubro nov november novembre noviembre novembro dec december dezember dez decembre diciembre dicembre
	dezembro dic`)

func readMonth(w string) int {
	if len(w) < 3 || !monthNames[w] {
		return 0
	}
	if w == "juin" {
		return 6
	}
	if w == "juillet" {
		return 7
	}
	return months[w[:3]]
}

// readDayNumber reads "3", "03", "3." and "3rd".
func readDayNumber(w string) int {
	for _, end := range [...]string{"st", "nd", "rd", "th", "er", "."} {
		w = strings.TrimSuffix(w, end)
	}
	n, err := strconv.Atoi(w)
	if err != nil || n < 1 || n > 31 || len(w) > 2 {
		return 0
	}
	return n
}

func readYear(w string) int {
	n, err := strconv.Atoi(w)
	if err != nil || len(w) != 4 || n < 1900 || n > 2200 {
		return 0
	}
	return n
}

// readDay reads a value that is a day: "2026-12-05", "2026-12-05T10:00", "05.12.2026".
func readDay(s string) (day, bool) {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "t")
	s, _, _ = strings.Cut(s, " ")
	if len(s) != len("2026-12-05") {
		return day{}, false
	}
	var d day
	switch {
	case s[4] == '-' && s[7] == '-', s[4] == '/' && s[7] == '/':
		d = day{readYear(s[:4]), readDayNumber(s[5:7]), readDayNumber(s[8:])}
	case s[2] == '.' && s[5] == '.':
		d = day{readYear(s[6:]), readDayNumber(s[3:5]), readDayNumber(s[:2])}
	}
	return d, d.year != 0 && d.month >= 1 && d.month <= 12 && d.day != 0
}

func isDay(s string) bool {
	if s = strings.TrimSpace(s); s == "" || s[0] != '+' && (s[0] < '0' || s[0] > '9') { // most texts begin with a letter
		return false
	}
	_, ok := readDay(s)
	return ok
}

// maxDays bounds how many days of one text are kept.
const maxDays = 512

// readDays returns the days that a folded text names. Forms of numbers alone with the month in an
// unknown place are left out.
func readDays(fold string) []day {
	var out []day
	fields := strings.FieldsFunc(fold, isWordBreak)
	at := func(i int) string {
		if i < 0 || i >= len(fields) {
			return ""
		}
		return strings.Trim(fields[i], ":!?'")
	}
	for i := range fields {
		w := strings.TrimSuffix(at(i), ".")
		if len(out) >= maxDays {
			break
		}
		if d, ok := readDay(w); ok {
			out = append(out, d)
			continue
		}
		m := readMonth(w)
		if m == 0 {
			continue
		}
		before := i - 1
		if at(before) == "of" || at(before) == "de" {
			before--
		}
		after := at(i + 1)
		if after == "de" {
			after = at(i + 2)
		}
		if d := readDayNumber(at(before)); d != 0 {
			out = append(out, day{readYear(strings.Trim(after, ".")), m, d})
		} else if d := readDayNumber(at(i + 1)); d != 0 {
			out = append(out, day{readYear(strings.Trim(at(i+2), ".")), m, d})
		}
	}
	return out
}

// isSame reports whether two days are one, where each year that is missing fits.
func (d day) isSame(o day) bool {
	return d.month == o.month && d.day == o.day && (d.year == o.year || d.year == 0 || o.year == 0)
}

// shiftWords say that a day is counted from another, so that it needn't be written.
var shiftWords = wordSet(`next later after before following until till every each yearly annual annually monthly month months year years
	week weeks postpone delay extend renew renewal again tomorrow nachste nachsten nachster spater jahr jahre monat monate woche wochen
	jahrlich monatlich verlangern verschieb verschiebe verlege prochain prochaine suivant suivante mois an ans annee semaine
	reporter siguiente proximo
	proxima mes meses ano anos semana aplaza prossimo prossima mese anno settimana`)

// nearDay says how a day is near another one. shifted: the words count days, so that only a swap is a slip.
func (d day) nearDay(o day, shifted bool) How {
	switch {
	case d.isSame(o):
		return ""
	case d.month == o.day && d.day == o.month && (d.year == o.year || o.year == 0):
		return HowDaySwapped
	case shifted:
		return ""
	case d.month == o.month && d.day == o.day:
		return HowOtherYear
	case d.day == o.day && d.year == o.year && o.year != 0:
		return HowOtherMonth
	}
	return ""
}
