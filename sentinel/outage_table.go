package sentinel

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// OutageTable says what becomes of calls while something that counts or judges them is
// away. It has a row for each effect, and OutwardRow. The strictest of a call's rows
// counts. A row that is missing denies, so the nil table denies every call.
type OutageTable map[string]Outcome

// OutwardRow is the row of an OutageTable for calls that reach others.
const OutwardRow = "outward"

// OutageRows returns the names of all rows: the effects, then OutwardRow.
func OutageRows() []string {
	var out []string
	for _, e := range skills.Effects() {
		out = append(out, string(e))
	}
	return append(out, OutwardRow)
}

// OutcomeFor returns the outcome for a call, and the row that it is from. It is never
// wider than Allow.
func (t OutageTable) OutcomeFor(c Call) (Outcome, string) {
	o, row := min(t[string(c.Effect())], Allow), string(c.Effect())
	if c.Outward() && t[OutwardRow] < o {
		return t[OutwardRow], OutwardRow
	}
	return o, row
}

// WithDefaults returns a table with the rows of t, and those of defaults where t has none.
func (t OutageTable) WithDefaults(defaults OutageTable) OutageTable {
	out := OutageTable{}
	maps.Copy(out, defaults)
	maps.Copy(out, t)
	return out
}

// Check returns a *skills.PathError for each row that isn't one of OutageRows, and for
// each outcome that isn't one. path is the table's place in the configuration.
func (t OutageTable) Check(path string) error {
	var errs []error
	rows := OutageRows()
	for _, row := range slices.Sorted(maps.Keys(t)) {
		if !slices.Contains(rows, row) {
			errs = append(errs, &skills.PathError{Path: path + "." + row, Msg: "is no effect; use " + strings.Join(rows, ", ")})
		} else if t[row] > Allow {
			errs = append(errs, &skills.PathError{Path: path + "." + row, Msg: "is no outcome; use allow, ask, defer or deny"})
		}
	}
	return errors.Join(errs...)
}
