package approval

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/sentinel"
)

// Sheet is what a person must see of a call before they answer. It holds values: it is kept
// sealed, and texts in it come from models, users and tools. Text is safe to show as it is; the
// other fields must be escaped by what shows them.
type Sheet struct {
	V int `json:"v"`
	// Approval and Digest are those of the question that shows it.
	Approval string `json:"approval"`
	Digest   string `json:"digest"`
	// Text is Describe's: the whole question in lines for a terminal.
	Text string `json:"text"`
	// Args are the canonical arguments; x-secret texts are shown by their size.
	Args json.RawMessage `json:"args,omitempty"`
	// Remote is the principal who runs the call in a program elsewhere: its files are named and not
	// compared. Empty, this program runs it.
	Remote string `json:"remote,omitempty"`
	// Request is the user's own words of this turn, nil where there are none; Before are those of
	// the turn before.
	Request   *string         `json:"request"`
	Before    string          `json:"before,omitempty"`
	Mission   string          `json:"mission"`
	MissionBy sentinel.Author `json:"mission_by"`
	Touches   []ShownTouch    `json:"touches"`
	Bound     []ShownBound    `json:"bound"`
	Asks      []Reason        `json:"asks"`
	Doubts    []ShownDoubt    `json:"doubts"`
	// Evidence says where the values of the call were seen, in the journal's form.
	Evidence json.RawMessage `json:"evidence,omitempty"`
	// Standing says what a standing approval would be for; nil where there can be none.
	Standing *StandingOffer `json:"standing,omitempty"`
}

// ShownTouch is one thing that the call would touch.
type ShownTouch = sentinel.Touched

// ShownBound is a path that the approval is for, as it was when the person was asked.
type ShownBound struct {
	Arg  string `json:"arg"`
	Kind string `json:"kind"`
	Path string `json:"path"`
	Real string `json:"real"`
	// Size is in bytes, SHA256 in hexadecimal digits.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"`
}

// Reason is why a gate asks.
type Reason struct {
	Gate   string `json:"gate"`
	Code   string `json:"code"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// ShownDoubt is what the rules could not tell.
type ShownDoubt struct {
	Signal string   `json:"signal"`
	Args   []string `json:"args,omitempty"`
	State  string   `json:"state"`
}

// maxSheet is the size in bytes from which on a Sheet is kept without arguments and evidence.
const maxSheet = 3 << 20

// newSheet takes down what a person must see.
func newSheet(c sentinel.Call, d sentinel.Decision) Sheet {
	g := c.Grant()
	s := Sheet{
		V: 2, Text: strings.TrimPrefix(Describe(c, d), "\n"), Mission: g.Mission(), MissionBy: g.MissionBy(),
		Remote:  c.Remote(),
		Touches: sentinel.ListTouched(c.Touch()), Bound: listShownBound(d.Bound), Asks: listReasons(d), Doubts: listShownDoubts(d),
		Evidence: c.Evidence().JournalJSON(),
	}
	if request, ok := g.Request(); ok {
		s.Request = &request
	}
	if last, ok := g.LastRequest(); ok {
		s.Before = last.Words
	}
	args := c.Parsed()
	if skill := c.Skill(); skill != nil {
		args = skill.WithSizedSecrets(args)
	}
	if b, err := plainjson.Marshal(args); err == nil {
		s.Args = b
	}
	return s
}

// encodeSheet is the sheet as it is sealed.
func encodeSheet(s Sheet) ([]byte, error) {
	b, err := plainjson.Marshal(s)
	if err == nil && len(b) > maxSheet { // the text says what of it is not shown whole
		s.Args, s.Evidence = nil, nil
		return plainjson.Marshal(s)
	}
	return b, err
}

func listShownBound(list []sentinel.Bound) []ShownBound {
	out := make([]ShownBound, len(list))
	for i, b := range list {
		out[i] = ShownBound{Arg: b.Arg, Kind: b.Kind, Path: b.Path, Real: b.Real, Size: b.Size, SHA256: b.SHA256}
	}
	return out
}

func listReasons(d sentinel.Decision) []Reason {
	out := []Reason{}
	for _, v := range d.Verdicts {
		if v.Counts() && v.Outcome == sentinel.Ask {
			out = append(out, Reason{v.Gate, v.Code, v.Reason, v.Detail})
		}
	}
	return out
}

func listShownDoubts(d sentinel.Decision) []ShownDoubt {
	out := []ShownDoubt{}
	for _, v := range d.Verdicts {
		for _, e := range v.Doubts() {
			shown := ShownDoubt{Signal: e.Signal, Args: e.Args}
			if v.Doubt != nil {
				shown.State = v.Doubt.State.String()
			}
			out = append(out, shown)
		}
	}
	return out
}

// shownKey names what a person is shown and answers: the call, every reason for asking and
// what the paths lead to. An answer is to that alone. It is keyed, so it tells nothing of values.
func shownKey(key [32]byte, c sentinel.Call, d sentinel.Decision) (string, error) {
	type reason struct{ Gate, Code, Doubts string }
	var asks []reason
	for _, v := range d.Verdicts {
		if !v.Counts() || v.Outcome != sentinel.Ask {
			continue
		}
		r := reason{Gate: v.Gate, Code: v.Code}
		if v.Doubt != nil && v.Doubt.State == sentinel.DoubtCounted {
			r.Doubts = sentinel.DoubtsKey(v.Evidence)
		}
		asks = append(asks, r)
	}
	b, err := plainjson.Marshal(struct {
		V                int
		Call, Effect     string
		Outward, Tainted bool
		Asks             []reason
		Bound            []ShownBound
	}{2, c.Digest(), string(c.Effect()), c.Outward(), c.Tainted(), asks, listShownBound(d.Bound)})
	if err != nil {
		return "", err
	}
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte("vedette/approval/v2\n"))
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil)), nil
}
