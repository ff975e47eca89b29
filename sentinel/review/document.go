package review

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vedette-dev/vedette/internal/textcut"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// Limits of a question in bytes. A document beyond maxDocument, or a key beyond
// maxKey, is not asked about: a key that was cut could collide with another.
// Nor is a call with a longer string, unless it may be cut: see mayCutTexts.
const (
	maxText        = 8 << 10 // of the request and of the mission
	maxString      = 8 << 10 // of one string in the arguments
	maxKey         = 200
	maxDescription = 300
	maxTouch       = 160
	maxDocument    = 32 << 10
	maxEarlier     = 600 // of one earlier request
)

// Limits of lists in entries.
const (
	maxScope   = 64
	maxTouches = 12
	maxSignals = 12

	maxEarlierRequests = 6
)

// document is the user message. Its fields are all that a model is told.
// Either arguments is there, or the two that stand in its place.
type document struct {
	Request        *string         `json:"original_request"`
	Earlier        []string        `json:"earlier_requests,omitempty"` // newest first
	Mission        string          `json:"mission"`
	MissionBy      string          `json:"mission_written_by"`
	MissionTainted bool            `json:"mission_after_untrusted"`
	Agent          string          `json:"agent_id"`
	Intent         *intentPart     `json:"checked_intent,omitempty"`
	Scope          []string        `json:"scope"`
	Skill          skillPart       `json:"skill"`
	Arguments      *map[string]any `json:"arguments,omitempty"`
	ArgumentNames  *[]string       `json:"argument_names,omitempty"`
	Undeclared     *int            `json:"undeclared_arguments,omitempty"`
	Touches        []string        `json:"touches"`
	Outward        bool            `json:"outward"`
	Tainted        bool            `json:"tainted"`
	Judge          *judgePart      `json:"judge"`
	Evidence       json.RawMessage `json:"evidence,omitempty"`
	Flow           *flowPart       `json:"flow,omitempty"`
	Trace          *[]stepPart     `json:"trace,omitempty"`
	CutBytes       int             `json:"cut_bytes"`
}

// intentPart is the trusted intent under whose authority a call is made.
type intentPart struct {
	ID     string `json:"id"`
	Action string `json:"action"`
}

// describeIntent is the trusted intent of a grant; nil where there is none.
func describeIntent(g sentinel.Grant) *intentPart {
	if g.Intent() == "" {
		return nil
	}
	return &intentPart{g.Intent(), g.IntentAction()}
}

type skillPart struct {
	Name        string `json:"name"`
	Effect      string `json:"effect"`
	Reaches     string `json:"reaches"`
	Description string `json:"description"`
}

// judgePart is what the judge found; null where it is switched off.
type judgePart struct {
	Score   json.Number `json:"score,omitempty"` // empty where the judge gave none
	Signals []string    `json:"signals"`
	// Doubts are the signals that the model is to decide about.
	Doubts []string `json:"doubts,omitempty"`
}

// stepPart is one earlier step of the agent, without what it was about.
type stepPart struct {
	Skill   string `json:"skill"`
	Effect  string `json:"effect"`
	Trust   string `json:"trust"`
	Outcome string `json:"outcome"`
	Bytes   int    `json:"bytes"`
}

// view is what of a call a document shows.
type view struct {
	keys  bool // names of arguments, no values
	trace int  // steps, at most
	plain bool // without evidence
	// evidence is what a canary's evidence shows.
	evidence sentinel.EvidenceOptions
	// judged stands in for the judge's findings, of a call that no judge saw.
	judged *judgePart
}

// describeCall writes the document of a call whose skill is known. False means that
// it does not fit.
func describeCall(c sentinel.Call, v view) (string, bool) {
	g, s := c.Grant(), c.Skill()
	request, _ := g.Request() // none is empty
	if !mayCutTexts(c, request, v) {
		return "", false
	}
	k := &truncator{}
	d := document{
		Mission: k.cut(g.Mission(), maxText), MissionBy: wordOfAuthor(g.MissionBy()), MissionTainted: g.MissionTainted(),
		Agent: g.Agent(), Intent: describeIntent(g), Scope: listScope(g.Scope()),
		Skill:   skillPart{s.Name(), string(s.Effect()), string(s.Reaches()), k.cut(s.Spec().Description, maxDescription)},
		Touches: describeTouches(c, v), Outward: c.Outward(), Tainted: c.Tainted(), Judge: cmp.Or(v.judged, describeFindings(c)),
		Flow:  describeFlow(c),
		Trace: describeSteps(c.Trace(), v.trace),
	}
	if v.keys {
		d.ArgumentNames, d.Undeclared = nameArguments(c)
	} else {
		// The copy's secrets are replaced; only the copy is cut.
		args := k.cutObject(s.WithoutSecrets(c.Parsed()))
		d.Arguments = &args
	}
	if !v.plain {
		d.Evidence = json.RawMessage(c.ShowEvidence())
	}
	d.Earlier = listEarlierWords(g, k)
	if strings.TrimSpace(request) != "" {
		request = k.cut(request, maxText)
		d.Request = &request
	}
	d.CutBytes = k.bytes
	b, err := json.Marshal(d)
	if err != nil || k.stuck {
		return "", false
	}
	doc := escapeUnseen(string(b))
	return doc, len(doc) <= maxDocument
}

// listEarlierWords returns the user's own words of earlier turns, newest first. What was
// pasted or withdrawn is none of them.
func listEarlierWords(g sentinel.Grant, k *truncator) []string {
	words := g.EarlierWords()
	words = words[:min(len(words), maxEarlierRequests)]
	for i := range words {
		words[i] = k.cut(words[i], maxEarlier)
	}
	return words
}

// mayCutTexts reports whether everything that is too long may be cut. A model that sees a
// part would judge other bytes than those that run, and what an attacker wants
// hidden would be put where the cut is. So of a call that does more than read
// nothing is cut, neither arguments nor the request and the mission that they are
// held against. Of a read, x-content may be, if it is nothing else besides: not what
// says where the read goes, and nothing at all where the schema doesn't say which is
// which. A skill's description is the operator's and runs nowhere, so its length
// doesn't count. Where values aren't shown at all, their length doesn't count
// either.
func mayCutTexts(c sentinel.Call, request string, v view) bool {
	reads := c.Effect() == skills.Read
	if !reads && (len(c.Grant().Mission()) > maxText || len(request) > maxText) {
		return false
	}
	fits := true
	c.WalkArgs(func(a skills.Arg) {
		text, _ := a.Text() // what is no text is short
		if len(text) <= maxString || a.Marks.Has(skills.Secret) || v.keys {
			return // a secret is replaced, whatever its length
		}
		content := a.Marks.Has(skills.Content) && a.Marks&(skills.Target|skills.Shell|skills.Path|skills.URL) == 0
		fits = fits && reads && content
	})
	return fits
}

// wordOfAuthor keeps the closed list closed, whatever a grant was made with.
func wordOfAuthor(a sentinel.Author) string {
	switch a {
	case sentinel.ByUser, sentinel.ByOperator, sentinel.ByOrchestrator:
		return string(a)
	}
	return "unknown"
}

func listScope(s skills.Scope) []string {
	list := keepFirstEntries(s.List(), maxScope)
	if list == nil {
		list = []string{}
	}
	return list
}

// truncator shortens texts and counts what it took away.
type truncator struct {
	bytes int
	stuck bool // a key was too long
}

// cut keeps the beginning and the end of a text that is longer than limit: what
// an attacker appends stands at the end.
func (t *truncator) cut(s string, limit int) string {
	head, left, tail := textcut.Ends(s, limit)
	if left == 0 {
		return s
	}
	t.bytes += left
	return fmt.Sprintf("%s…[%d bytes cut]…%s", head, left, tail)
}

func (t *truncator) cutObject(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for key, v := range m {
		if len(key) > maxKey {
			t.stuck = true
		}
		out[key] = t.cutValue(v)
	}
	return out
}

func (t *truncator) cutValue(v any) any {
	switch v := v.(type) {
	case string:
		return t.cut(v, maxString)
	case map[string]any:
		return t.cutObject(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = t.cutValue(e)
		}
		return out
	}
	return v
}
