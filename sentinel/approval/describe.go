package approval

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/plainjson"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// Bounds of lists. The reasons for asking stand below them and must stay on the
// screen.
const (
	maxArguments = 40
	maxPaths     = 20
)

// shownDigest is how much of a digest is shown: "sha256:" and 16 digits.
const shownDigest = 7 + 16

// Describe puts a call and the reasons for asking into lines for a person.
// Everything from outside is quoted, also the names of arguments.
func Describe(c sentinel.Call, d sentinel.Decision) string {
	s := &sheet{}
	g := c.Grant()
	s.b.WriteByte('\n')
	s.writeRow("skill", s.formatSkillName(c.Name())+" ("+string(c.Effect())+outwardNote(c)+")")
	s.writeRow("call", c.Digest()[:min(len(c.Digest()), shownDigest)])
	s.writeRow("agent", s.quote(g.Agent(), maxShown)+", for user "+s.quote(g.User(), maxShown))
	if c.Remote() != "" {
		s.writeRow("runs at", s.quote(c.Remote(), maxShown)+", not here; its files are named and not compared")
	}
	if request, ok := g.Request(); ok {
		s.writeRow("request", s.quote(request, maxShown))
		if last, ok := g.LastRequest(); ok {
			s.writeRow("before", s.quote(last.Words, maxShown))
		}
	} else {
		s.writeRow("request", "(none is known)")
	}
	if g.Intent() != "" {
		s.writeRow("intent", s.quote(g.IntentAction(), maxShown)+", checked and signed as "+g.Intent())
	}
	s.writeRow("mission", s.quote(g.Mission(), maxShown))
	if !s.writeChanges(c) {
		s.writeArguments(c)
		s.writePaths(c)
	}
	s.writeBound(d.Bound)
	if !d.Expires.IsZero() {
		s.writeRow("until", d.Expires.UTC().Format(time.RFC3339)+", then nothing runs")
	}
	if m, ok := c.Modified(); ok {
		s.writeRow("changed", s.quote(strings.Join(m.Args, ", "), maxKey)+", by the rules "+s.quote(strings.Join(m.Rules, ", "), maxShown))
	}
	for _, f := range c.Flags() {
		where := "names or values that no schema declares"
		if len(f.Args) > 0 {
			where = s.quote(strings.Join(f.Args, ", "), maxKey)
		}
		s.writeRow("unseen", f.Code+" characters in "+where)
	}
	for _, v := range d.Verdicts {
		if v.Counts() && v.Outcome == sentinel.Ask {
			s.writeRow("asks", s.showPlain(v.Gate+": "+v.Reason))
			if v.Detail != "" {
				s.writeRow("", s.quote(v.Detail, maxShown))
			}
		}
	}
	if c.Tainted() {
		s.writeRow("note", "the agent has read text that others could have written")
	}
	if s.cut > 0 {
		s.writeRow("CUT", fmt.Sprintf("%d of the above not shown whole; what runs is the whole", s.cut))
	}
	return s.b.String()
}

// formatSkillName shows a name as it is if it can be one.
func (s *sheet) formatSkillName(name string) string {
	if skills.ValidName(name) && len(name) <= maxKey {
		return name
	}
	return s.quote(name, maxKey)
}

func outwardNote(c sentinel.Call) string {
	if c.Outward() {
		return ", reaches others"
	}
	return ""
}

// writeArguments lists the top-level arguments, x-secret values hidden.
func (s *sheet) writeArguments(c sentinel.Call) {
	args := c.Parsed()
	if skill := c.Skill(); skill != nil {
		args = skill.WithSizedSecrets(args)
	}
	for i, k := range slices.Sorted(maps.Keys(args)) {
		if i == maxArguments {
			s.cut++
			s.writeRow("arg", fmt.Sprintf("…and %d more arguments, not shown", len(args)-i))
			return
		}
		s.writeRow("arg", s.quote(k, maxKey)+": "+s.formatValue(args[k]))
	}
}

func (s *sheet) formatValue(v any) string {
	if text, ok := v.(string); ok {
		return s.quote(text, maxShown)
	}
	b, err := plainjson.Marshal(v)
	if err != nil {
		s.cut++
		return "(can't be shown)"
	}
	return s.showPlain(string(b))
}

// writeBound says what the call's paths lead to and hold: the approval is for that.
func (s *sheet) writeBound(list []sentinel.Bound) {
	for i, b := range list {
		if i == maxPaths {
			s.cut++
			s.writeRow("bound", fmt.Sprintf("…and %d more paths, not shown; the approval binds them too", len(list)-i))
			return
		}
		s.writeRow("bound", s.quote(b.Arg, maxKey)+": "+b.String())
		if b.Real != b.Path {
			s.writeRow("leads to", s.quote(b.Real, maxShown))
		}
	}
}

// writePaths lists what the call would touch, without what it only mentions.
func (s *sheet) writePaths(c sentinel.Call) {
	n := 0
	for _, p := range c.Touch().Paths {
		if p.Access.Has(touch.Mention) {
			continue
		}
		if n++; n <= maxPaths {
			s.writeRow("touches", s.quote(p.Clean, maxShown))
			if p.Real != p.Clean && !p.Declared {
				s.writeRow("leads to", s.quote(p.Real, maxShown))
			}
		}
	}
	if n > maxPaths {
		s.cut++
		s.writeRow("touches", fmt.Sprintf("…and %d more paths, not shown", n-maxPaths))
	}
}
