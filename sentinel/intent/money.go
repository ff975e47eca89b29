package intent

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Bounds of numbers.
const (
	// MaxCount bounds numbers of results and of words.
	MaxCount = 1_000_000
	// maxWhole bounds amounts in whole units.
	maxWhole = 100_000_000_000
)

// Money is an amount of a currency, never negative.
type Money struct {
	minor    int64
	currency string
}

// Minor is the amount in hundredths of the currency's unit.
func (m Money) Minor() int64 { return m.minor }

// Currency is the currency's code.
func (m Money) Currency() string { return m.currency }

// String is the amount with two decimals and the currency: "1200.50 EUR".
func (m Money) String() string {
	return fmt.Sprintf("%d.%02d %s", m.minor/100, m.minor%100, m.currency)
}

// Amount is the amount as a decimal: "1200.50".
func (m Money) Amount() string { return fmt.Sprintf("%d.%02d", m.minor/100, m.minor%100) }

// ParseAmount reads an amount such as 1200.5 into hundredths. ErrRange: it is negative, too large, no plain decimal, or
// has more than two decimals that count.
func ParseAmount(s string) (int64, error) {
	whole, frac, _ := strings.Cut(s, ".")
	frac = strings.TrimRight(frac, "0")
	if len(frac) > 2 || len(whole) > len("100000000000") || whole == "" {
		return 0, ErrRange
	}
	n, err := strconv.ParseUint(whole, 10, 63)
	if err != nil || n > maxWhole {
		return 0, ErrRange
	}
	cents, err := strconv.ParseUint((frac + "00")[:2], 10, 63)
	if err != nil {
		return 0, ErrRange
	}
	return int64(n)*100 + int64(cents), nil //nolint:gosec // both are bounded
}

// Day is a date without a time. The zero Day is none.
type Day struct{ t time.Time }

const dayForm = "2006-01-02"

// ParseDay reads a date such as 2026-12-31, from the year 2000 to 2999. ErrDate: it is none.
func ParseDay(s string) (Day, error) {
	t, err := time.Parse(dayForm, s)
	if err != nil || t.Year() < 2000 || t.Year() > 2999 {
		return Day{}, ErrDate
	}
	return Day{t}, nil
}

// NewDay returns the date of a moment in its own time zone.
func NewDay(t time.Time) Day {
	return Day{time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)}
}

// IsZero reports whether there is no date.
func (d Day) IsZero() bool { return d.t.IsZero() }

// String is the date as 2026-12-31; empty for none.
func (d Day) String() string {
	if d.IsZero() {
		return ""
	}
	return d.t.Format(dayForm)
}

// DaysAfter is how many days the date is after another; negative where it is before.
func (d Day) DaysAfter(other Day) int { return int(d.t.Sub(other.t).Hours() / 24) }
