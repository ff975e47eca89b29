package query

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// The formats of NewWriter.
const (
	// FormatJSONL is one record a line, as Record marshals.
	FormatJSONL = "jsonl"
	// FormatCSV is a line of columns for each record, for spreadsheets. A value that a spreadsheet
	// would read as a formula has an apostrophe before it.
	FormatCSV = "csv"
	// FormatOCSF is an event of the Open Cybersecurity Schema Framework a line: API Activity, with the
	// profile Security Control. What that has no place for stands under unmapped.
	FormatOCSF = "ocsf"
	// FormatParquet is a file of columns, those of CSV with their own types.
	FormatParquet = "parquet"
)

// Formats returns the formats of NewWriter.
func Formats() []string { return []string{FormatJSONL, FormatCSV, FormatOCSF, FormatParquet} }

// Writer writes records in a format.
type Writer interface {
	// Write writes one record. What was written may stand in a buffer until Flush.
	Write(r *ledger.Record) error
	Flush() error
}

// NewWriter returns a writer of a format of Formats.
func NewWriter(format string, w io.Writer) (Writer, error) {
	switch format {
	case FormatJSONL:
		return &jsonlWriter{bufio.NewWriter(w)}, nil
	case FormatOCSF:
		return &ocsfWriter{bufio.NewWriter(w)}, nil
	case FormatParquet:
		return newParquetWriter(w), nil
	case FormatCSV:
		out := &csvWriter{csv.NewWriter(w)}
		return out, out.w.Write(csvColumns)
	}
	return nil, fmt.Errorf("unknown format %q; say %s", format, strings.Join(Formats(), " or "))
}

// jsonlWriter is the Writer of FormatJSONL.
type jsonlWriter struct{ w *bufio.Writer }

func (j *jsonlWriter) Write(r *ledger.Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("record %s can't be written as JSON: %w", r.ID, err)
	}
	return terminal.WriteLine(j.w, terminal.CleanJSON(line))
}

func (j *jsonlWriter) Flush() error { return j.w.Flush() }

// csvWriter is the Writer of FormatCSV.
type csvWriter struct{ w *csv.Writer }

var csvColumns = []string{
	"index", "time", "id", "kind", "outcome", "gate", "code", "skill", "effect", "agent", "user", "conversation", "call", "decision",
	"tainted", "outward", "degraded", "approver", "via", "reason", "signals", "doubts", "judge_score", "elapsed_us", "policy",
}

func (c *csvWriter) Write(r *ledger.Record) error {
	b := openBody(r)
	score, elapsed := "", ""
	for _, g := range b.Gates {
		if g.Gate == "judge" && g.Score != nil {
			score = strconv.FormatFloat(float64(*g.Score)/100, 'f', 2, 64)
		}
	}
	if b.ElapsedUS != nil {
		elapsed = strconv.FormatInt(*b.ElapsedUS, 10)
	}
	cells := []string{
		strconv.FormatInt(r.Index, 10), r.Time.UTC().Format(timeLayout), r.ID, r.Kind, r.Outcome, r.Gate, r.Code, r.Skill, b.Effect, r.Agent,
		r.User, r.Conversation, r.Call, r.Decision, strconv.FormatBool(b.Tainted), strconv.FormatBool(b.Outward),
		strconv.FormatBool(b.Degraded), b.Approver, b.Via, b.Reason, joinNames(b.listSignals(false)), joinNames(b.listSignals(true)), score,
		elapsed, b.Policy,
	}
	for i := range cells {
		cells[i] = defuseFormula(terminal.Clean(cells[i]))
	}
	return c.w.Write(cells)
}

func (c *csvWriter) Flush() error {
	c.w.Flush()
	return c.w.Error()
}

func joinNames(names []string) string {
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

// defuseFormula puts an apostrophe before what a spreadsheet would compute.
func defuseFormula(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
