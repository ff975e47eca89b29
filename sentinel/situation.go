package sentinel

import (
	"github.com/vedette-dev/vedette/internal/textcut"
	"github.com/vedette-dev/vedette/sentinel/touch"
)

// ValueSituation is the kind of the value that holds a call's Situation.
const ValueSituation = "situation"

const (
	// maxSituationText is how many bytes of a request and of a mission a Situation holds. Of longer
	// ones the turn's own journal has the rest.
	maxSituationText = 8 << 10
	// maxTouched is how many things that a call would touch ListTouched lists.
	maxTouched = 256
	// maxSituationTouched is how many of them a Situation holds.
	maxSituationTouched = 64
)

// Situation is what the gates knew of a call beside its arguments. The journal keeps it with the
// decision, sealed, for people who look into the decision later.
type Situation struct {
	V int `json:"v"`
	// Request are the user's own words of the turn, nil where there were none. Before are those of
	// the turn before.
	Request *string `json:"request"`
	Before  string  `json:"before,omitempty"`
	// Mission is what the agent was told, and MissionBy who wrote it. MissionTainted says that its author
	// had read text of others by then.
	Mission        string `json:"mission"`
	MissionBy      Author `json:"mission_by"`
	MissionTainted bool   `json:"mission_tainted,omitempty"`
	// RequestBytes and MissionBytes are the sizes of the whole texts, where these are shortened.
	RequestBytes int `json:"request_bytes,omitempty"`
	MissionBytes int `json:"mission_bytes,omitempty"`
	// Touches are empty where the call was malformed: a secret may stand under a name that is spelt wrong.
	Touches []Touched `json:"touches"`
}

// Touched is one thing that a call would touch: Kind is path, command, host, recipient or amount.
type Touched struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
	// Real is where a path leads to, where that is another.
	Real string `json:"real,omitempty"`
	Arg  string `json:"arg,omitempty"`
}

// newSituation takes down what the gates knew.
func newSituation(c Call, d Decision) Situation {
	g := c.Grant()
	s := Situation{V: 1, MissionBy: g.MissionBy(), MissionTainted: g.MissionTainted(), Touches: []Touched{}}
	if request, ok := g.Request(); ok {
		head := ""
		head, s.RequestBytes = shortenText(request)
		s.Request = &head
	}
	if last, ok := g.LastRequest(); ok {
		s.Before, _ = shortenText(last.Words)
	}
	s.Mission, s.MissionBytes = shortenText(g.Mission())
	if wellFormed(d) {
		list := ListTouched(c.Touch())
		s.Touches = list[:min(len(list), maxSituationTouched)]
	}
	return s
}

// shortenText returns the beginning of a long text, and then the size of the whole.
func shortenText(s string) (head string, whole int) {
	if len(s) <= maxSituationText {
		return s, 0
	}
	return textcut.Head(s, maxSituationText), len(s)
}

// ListTouched lists what a call would touch, for people. Paths that are only mentioned are left out.
func ListTouched(t touch.Touch) []Touched {
	out := []Touched{}
	for _, p := range t.Paths {
		if p.Access.Has(touch.Mention) {
			continue
		}
		shown := Touched{Kind: "path", Value: p.Clean, Arg: p.Arg}
		if p.Real != p.Clean {
			shown.Real = p.Real
		}
		out = append(out, shown)
	}
	for _, c := range t.Commands {
		out = append(out, Touched{Kind: "command", Value: c.Name, Arg: c.Arg})
	}
	for _, h := range t.Hosts {
		out = append(out, Touched{Kind: "host", Value: h.Name, Arg: h.Arg})
	}
	for _, r := range t.Recipients {
		out = append(out, Touched{Kind: "recipient", Value: r.Value, Arg: r.Arg})
	}
	for _, a := range t.Amounts {
		out = append(out, Touched{Kind: "amount", Value: a.Value, Arg: a.Arg})
	}
	return out[:min(len(out), maxTouched)]
}
