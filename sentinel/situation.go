package sentinel

import (
	"encoding/json"

	"github.com/vedette-dev/vedette/sentinel/touch"
)

// valueSituation is the kind of the value that held a Situation beside premises of version 1.
const valueSituation = "situation"

const (
	// maxTouched is how many things that a call would touch ListTouched lists.
	maxTouched = 256
	// maxKeptTouched is how many of them premises hold.
	maxKeptTouched = 64
)

// SituationKinds are the kinds of values that RecallSituation reads.
func SituationKinds() []string { return []string{ValuePremises, valueSituation} }

// Situation is what the gates knew of a call beside its arguments, for people who look into the decision later.
type Situation struct {
	// Request are the user's own words of the turn, nil where there were none. Before are those of
	// the turn before.
	Request *string `json:"request"`
	Before  string  `json:"before,omitempty"`
	// Mission is what the agent was told, and MissionBy who wrote it. MissionTainted says that its author
	// had read text of others by then.
	Mission        string `json:"mission"`
	MissionBy      Author `json:"mission_by"`
	MissionTainted bool   `json:"mission_tainted,omitempty"`
	// RequestBytes and MissionBytes are the sizes of the whole texts, where an earlier version shortened these.
	RequestBytes int `json:"request_bytes,omitempty"`
	MissionBytes int `json:"mission_bytes,omitempty"`
	// Touches are empty where the call was malformed: a secret may stand under a name that is spelt wrong.
	Touches []Touched `json:"touches"`
}

// RecallSituation reads what the gates knew of a call. values are those that the journal has of it, by their kind;
// part returns the PremisePart of a name. The error wraps ErrNotKept, or is part's.
func RecallSituation(values map[string][]byte, part func(ref string) ([]byte, error)) (s Situation, err error) {
	if raw, ok := values[valueSituation]; ok {
		if json.Unmarshal(raw, &s) != nil {
			return Situation{}, ErrNotKept
		}
		return s, nil
	}
	var k keptPremises
	if err := unmarshalKept(values[ValuePremises], &k); err != nil {
		return s, err
	}
	b, err := k.readBase(part)
	if err != nil {
		return s, err
	}
	s = Situation{Request: b.Request, Mission: b.Mission, MissionBy: b.MissionBy, MissionTainted: b.MissionTainted, Touches: k.Touches}
	if n := len(b.Said); n > 0 {
		s.Before = b.Said[n-1].Words
	}
	return s, nil
}

// Touched is one thing that a call would touch: Kind is path, command, host, recipient or amount.
type Touched struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
	// Real is where a path leads to, where that is another.
	Real string `json:"real,omitempty"`
	Arg  string `json:"arg,omitempty"`
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
