package label

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// The kinds of record that labels leave in the ledger.
const (
	RecordLabelled = "labelled"        // a reviewer said something of a decision
	RecordExported = "labels_exported" // values of labelled calls were read, for cases
)

// Word is what a reviewer says of a decision.
type Word string

// The words.
const (
	Right  Word = "right"
	Wrong  Word = "wrong"
	Unsure Word = "unsure"
)

// Words returns all words.
func Words() []Word { return []Word{Right, Wrong, Unsure} }

// code is the word as the ledger has it.
func (w Word) code() string { return "label." + string(w) }

// The bounds of what a reviewer says.
const (
	// MaxNote is the greatest length of a note in bytes.
	MaxNote = 4096

	maxName = 256
)

// ErrLabel refuses what can't be said of a decision.
var ErrLabel = errors.New("that can't be said of the decision")

// ErrUnknown is returned where no decision has the id.
var ErrUnknown = errors.New("no decision has this id")

// ErrAmbiguous is returned where several records begin with the id.
var ErrAmbiguous = ledger.ErrAmbiguous

// The outcomes of decisions as labels have them, from the strictest on.
var (
	outcomes = []string{sentinel.Deny.String(), sentinel.Defer.String(), sentinel.Ask.String(), sentinel.Allow.String()}
	ask      = sentinel.Ask.String()
)

// Outcomes are what a wrong decision should have been.
func Outcomes() []string {
	return []string{sentinel.Allow.String(), sentinel.Ask.String(), sentinel.Deny.String()}
}

// Said is what a reviewer says.
type Said struct {
	// Of is the id of a record, or how it begins, or the id of a decision or of a call.
	Of   string `json:"of"`
	Word Word   `json:"word"`
	// Should is what the decision should have been, where it was wrong.
	Should string `json:"should,omitempty"`
	Note   string `json:"note,omitempty"`
	// By is the reviewer, as authentication knows them; Via is the way by which they said it.
	By  string `json:"-"`
	Via string `json:"-"`
}

// check refuses what makes no sense, whatever the decision was.
func (s Said) check() error {
	switch {
	case !slices.Contains(Words(), s.Word):
		return fmt.Errorf("%w: say right, wrong or unsure", ErrLabel)
	case s.Word == Wrong && !slices.Contains(Outcomes(), s.Should):
		return fmt.Errorf("%w: say what it should have been, %s", ErrLabel, strings.Join(Outcomes(), ", "))
	case s.Word != Wrong && s.Should != "":
		return fmt.Errorf("%w: what it should have been is said of a wrong one alone", ErrLabel)
	case len(s.Note) > MaxNote || !utf8.ValidString(s.Note) || strings.ContainsRune(s.Note, 0):
		return fmt.Errorf("%w: a note is text of at most %d bytes", ErrLabel, MaxNote)
	case !isPlainName(s.By) || s.Via != "" && !isPlainName(s.Via):
		return fmt.Errorf("%w: the reviewer has no name of one line", ErrLabel)
	}
	return nil
}

// isPlainName reports whether a text can name a person in the ledger.
func isPlainName(s string) bool {
	return s != "" && len(s) <= maxName && utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0
}

// Label is what one reviewer said of one decision.
type Label struct {
	// ID is that of the label's own record, Record that of the decision's.
	ID           string `json:"id"`
	Record       string `json:"record"`
	Decision     string `json:"decision"`
	Call         string `json:"call"`
	Conversation string `json:"conversation,omitempty"`
	User         string `json:"user,omitempty"`
	Skill        string `json:"skill,omitempty"`
	// Decided is what was decided, Gate and Code by whom and why. Decided is ask wherever a person was asked,
	// whatever they answered.
	Decided string    `json:"decided"`
	Gate    string    `json:"gate,omitempty"`
	Code    string    `json:"code,omitempty"`
	Word    Word      `json:"word"`
	Should  string    `json:"should,omitempty"`
	By      string    `json:"by"`
	Via     string    `json:"via,omitempty"`
	At      time.Time `json:"at"`
	// Replaced is set where the reviewer has said something else since.
	Replaced bool `json:"replaced,omitempty"`
	// Note is what they wrote, as they wrote it: clean it before it is shown. HasNote is set where there was one,
	// also once it is erased, or where the reader has no key.
	Note    string `json:"note,omitempty"`
	HasNote bool   `json:"has_note,omitempty"`

	sealed int64 // the note's number in the journal
}

// Wanted is the outcome that the reviewer holds to be right; empty where they can't tell.
func (l *Label) Wanted() string {
	switch l.Word {
	case Right:
		return l.Decided
	case Wrong:
		return l.Should
	}
	return ""
}

// labelBody is what the ledger holds of a label: codes and names.
type labelBody struct {
	V       int    `json:"v"`
	Record  string `json:"record"` // of the decision
	Word    Word   `json:"word"`
	Decided string `json:"decided"`
	Should  string `json:"should,omitempty"`
	By      string `json:"by"`
	Via     string `json:"via,omitempty"`
	Note    bool   `json:"note,omitempty"` // there is one, in the journal
}

// entry is the label's record.
func (l *Label) entry() (ledger.Entry, error) {
	body, err := json.Marshal(labelBody{1, l.Record, l.Word, l.Decided, l.Should, l.By, l.Via, l.HasNote})
	return ledger.Entry{
		ID: l.ID, Time: l.At, Kind: RecordLabelled, Call: l.Call, Decision: l.Decision, Conversation: l.Conversation, User: l.User,
		Skill: l.Skill, Code: l.Word.code(), Body: body,
	}, err
}

// IsOnRecord reports whether a record of the ledger says what the label does. A row that was changed in the
// database differs from its record, which the ledger's heads cover.
func (l *Label) IsOnRecord(r *ledger.Record) bool {
	var b labelBody
	return r.ID == l.ID && r.Kind == RecordLabelled && r.Decision == l.Decision && r.Code == l.Word.code() && r.Call == l.Call &&
		json.Unmarshal(r.Body, &b) == nil &&
		b == labelBody{b.V, l.Record, l.Word, l.Decided, l.Should, l.By, l.Via, l.HasNote}
}

// isDecision reports whether a record is one of which reviewers say something.
func isDecision(r *ledger.Record) bool {
	return r.Kind == sentinel.RecordDecision || r.Kind == sentinel.RecordRefused
}

// DecidedOf returns what a record of a decision decided: ask wherever a person was asked.
func DecidedOf(r *ledger.Record) string {
	var b struct {
		AskedAt time.Time `json:"asked_at"`
	}
	if len(r.Body) > 0 && json.Unmarshal(r.Body, &b) == nil && !b.AskedAt.IsZero() {
		return ask
	}
	return r.Outcome
}
