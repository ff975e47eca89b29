package sentinel

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// hideClaimed takes names of arguments out of a body that are a program's word: a stranger may have written them,
// and may have put anything there.
func (b *body) hideClaimed(c Call) {
	s := c.Skill()
	if s == nil || !s.Claimed() {
		return
	}
	for i := range b.Gates {
		b.Gates[i].Evidence = hideEvidence(s, b.Gates[i].Evidence)
		b.Gates[i].Reason = hideReason(s, b.Gates[i].Gate, b.Gates[i].Reason)
	}
	b.Reason = hideReason(s, b.BlockedBy, b.Reason)
	b.Flags = slices.Clone(b.Flags) // they are the call's
	for i := range b.Flags {
		b.Flags[i].Args = hideNames(s, b.Flags[i].Args)
	}
	for i := range b.Bound {
		b.Bound[i].Arg = strings.Join(hideNames(s, []string{b.Bound[i].Arg}), "")
	}
	if b.Modified != nil {
		b.Modified.Args = hideNames(s, b.Modified.Args)
	}
}

// hideEvidence returns evidence with the names that a record may hold.
func hideEvidence(s *skills.Skill, list []Evidence) []Evidence {
	out := slices.Clone(list)
	for i := range out {
		out[i].Args = hideNames(s, out[i].Args)
	}
	return out
}

// hideNames returns the names that a record may hold.
func hideNames(s *skills.Skill, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !s.ShowsArg(n) })
}

// hideReason returns a reason without names that no record may hold. The gates that name arguments in their reasons
// put them before a colon (guard), or list places behind one (schema).
func hideReason(s *skills.Skill, gate, reason string) string {
	before, after, found := strings.Cut(reason, ": ")
	switch {
	case !found:
		return reason
	case gate == GateSchema:
		return before
	case gate == GateGuard && !s.ShowsArg(before):
		return after
	}
	return reason
}
