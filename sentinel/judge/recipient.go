package judge

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// The words of a Resolution.
const (
	// ResolvedSelf is the user.
	ResolvedSelf = "self"
	// ResolvedPlace is a channel or a repository that the agent read in, before any stranger
	// had said a word.
	ResolvedPlace = "place"
)

// Resolution says what resolved a recipient that no person wrote out.
type Resolution struct {
	Word string
	// Argument is top-level and declared, or empty.
	Argument string
	// Value is a model's text. Step is the place in the Trace, from 0, or -1.
	Value string
	Step  int
}

// ResolveRecipients returns what the recipients of a call resolve to, in the order of its
// arguments. Those that the user or a trusted result wrote out need no resolution.
func (g *Gate) ResolveRecipients(c sentinel.Call) []Resolution {
	if c.Skill() == nil || g.viewSignals == nil {
		return nil
	}
	v := g.readCall(c)
	var out []Resolution
	for _, val := range v.values[:min(len(v.values), maxValues)] {
		if val.kind != recipient || v.isGrounded(val) {
			continue
		}
		if r := resolveRecipient(v, val); r.Word != "" {
			out = append(out, r)
		}
	}
	return out
}

// resolveRecipient tells who a recipient is that no person wrote out. Its Word is empty where
// the rules can't tell. What a stranger tells a model to use resolves to nothing but the user.
func resolveRecipient(v *view, val value) Resolution {
	r := Resolution{Argument: val.arg, Value: val.raw, Step: -1}
	if isSelf(v, val) {
		r.Word = ResolvedSelf
		return r
	}
	if v.request == nil || val.exact != "" || v.isOrdered(val) {
		return r
	}
	// Strangers choose what they are called, what they write in a thread, and what a result
	// lists. So only a place that was read in before them resolves.
	if step, clean := findVisit(v, val); step >= 0 && clean && !v.c.Tainted() {
		r.Word, r.Step = ResolvedPlace, step
	}
	return r
}

// selfWords are what skills call the user.
var selfWords = wordSet("self me myself @me @self")

// isSelf reports whether a recipient is the user.
func isSelf(v *view, val value) bool {
	user := v.c.Grant().User()
	return selfWords[val.fold] || user != "" && exactText(val.raw) == exactText(user)
}

// placeNames are arguments that hold where people talk or work together.
var placeNames = wordSet("channel channels room rooms repo repository project board space workspace conversation chat thread")

// findVisit looks for a place that the agent read in before: a reply goes where the talk
// already is. clean says that no stranger had said a word by then, so that the choice was
// the agent's own. It returns -1 for what is no place.
func findVisit(v *view, val value) (step int, clean bool) {
	if val.kind != recipient {
		return -1, false
	}
	unprompted := v.c.Trace().CountUnprompted()
	if v.c.Grant().MissionTainted() {
		unprompted = 0
	}
	for i := range v.c.Trace().Len() {
		if s := v.c.Trace().Step(i); isLook(s) && isPlaceOf(v, s.Args, val) {
			return i, i < unprompted && !isAddress(val.fold)
		}
	}
	return -1, false
}

// isPlaceOf reports whether the arguments of a read have a recipient as the place where it read, under an argument of
// the same name. Of a talk under somebody's address the name may be another.
func isPlaceOf(v *view, args string, val value) bool {
	name := lastWord(v.splitArgName(val.arg))
	return slices.ContainsFunc(readPlaces(args), func(p place) bool {
		return p.fold == val.fold && len(name) > 0 && (name[0] == p.name || isAddress(val.fold))
	})
}

// isLook reports whether a step read something, and did.
func isLook(s sentinel.Step) bool {
	return !s.Failed && strings.TrimSpace(s.Result) != "" && (s.Effect == skills.Read || s.Effect == "")
}

// place is where a step read, under the last word of its argument's name.
type place struct{ name, fold string }

// readPlaces returns the places in the arguments of a step.
func readPlaces(args string) []place {
	var m map[string]any
	if json.Unmarshal([]byte(args), &m) != nil {
		return nil
	}
	var out []place
	for k, at := range m {
		tail := lastWord(splitName(k))
		if !isAny(tail, placeNames) {
			continue
		}
		list, ok := at.([]any)
		if !ok {
			list = []any{at}
		}
		for _, e := range list {
			if s, ok := e.(string); ok && strings.TrimSpace(s) != "" {
				out = append(out, place{tail[0], foldText(strings.TrimSpace(s))})
			}
		}
	}
	return out
}
