package review

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/vedette-dev/vedette/internal/runes"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// nameArguments returns the declared arguments, sorted, and how many others there are:
// a name that no schema has is the model's own text, and could be a value.
func nameArguments(c sentinel.Call) (declared *[]string, undeclared *int) {
	list, others := []string{}, 0
	for name := range c.Parsed() {
		if c.Skill().Declares(name) {
			list = append(list, name)
		} else {
			others++
		}
	}
	slices.Sort(list)
	return &list, &others
}

// describeFindings puts the judge's findings into short lines: signal, amount, and the
// declared arguments it was seen in. Every doubt is there: the list of their signals is
// closed and short.
func describeFindings(c sentinel.Call) *judgePart {
	f, _ := c.Findings()
	if !f.HasScore && len(f.Doubts()) == 0 { // nor has it where there are none
		return nil
	}
	p := judgePart{Signals: []string{}}
	if f.HasScore {
		p.Score = formatHundredths(f.Score)
	}
	for _, e := range f.Signals {
		if e.Doubt {
			p.Doubts = append(p.Doubts, describeSignal(e))
		} else {
			p.Signals = append(p.Signals, describeSignal(e))
		}
	}
	p.Signals = keepFirstEntries(p.Signals, maxSignals)
	return &p
}

func describeSignal(e sentinel.Evidence) string {
	line := e.Signal
	if e.Amount != 0 {
		line += " " + string(formatHundredths(e.Amount))
	}
	if len(e.Args) > 0 {
		line += " (" + strings.Join(e.Args, ", ") + ")"
	}
	var k truncator // its own: these are no texts from outside
	return k.cut(line, maxTouch)
}

// formatHundredths writes hundredths exactly: -33 is -0.33.
func formatHundredths(n int) json.Number {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	return json.Number(fmt.Sprintf("%s%d.%02d", sign, n/100, n%100))
}

// describeSteps tells of the last n steps of a trace; none where n is zero.
func describeSteps(t sentinel.Trace, n int) *[]stepPart {
	if n == 0 {
		return nil
	}
	var k truncator // names of skills, which are never long
	out := []stepPart{}
	for i := max(0, t.Len()-n); i < t.Len(); i++ {
		s := t.Step(i)
		p := stepPart{Skill: k.cut(s.Skill, maxTouch), Effect: "unknown", Trust: string(skills.Untrusted), Outcome: "ok", Bytes: len(s.Result)}
		if slices.Contains(skills.Effects(), s.Effect) {
			p.Effect = string(s.Effect)
		}
		if s.Trust == skills.Trusted {
			p.Trust = string(skills.Trusted)
		}
		if s.Failed {
			p.Outcome = "failed"
		}
		out = append(out, p)
	}
	return &out
}

// describeTouches puts what a call would touch into short lines. What stands in an
// x-secret argument is left out, and in any undeclared one if one of those is
// secret: a Touch doesn't say which of them it is from. Where values aren't shown, a line says what
// kind of thing it is and which declared argument it stands in.
func describeTouches(c sentinel.Call, v view) []string {
	secret := map[string]bool{}
	c.WalkArgs(func(a skills.Arg) {
		switch {
		case !a.Marks.Has(skills.Secret):
		case a.Declared:
			secret[a.Name] = true
		default:
			secret[""] = true // as the Touch names them
		}
	})
	all, seen := []string{}, map[string]bool{}
	add := func(arg, kind, value string) {
		line := kind + " " + value
		switch {
		case v.keys && c.Skill().Declares(arg):
			line = kind + " in " + arg
		case v.keys:
			line = kind + " in an undeclared argument"
		}
		if !secret[arg] && !seen[line] {
			seen[line], all = true, append(all, line)
		}
	}
	t := c.Touch()
	for _, h := range t.Hosts {
		add(h.Arg, "host", h.Name)
	}
	for _, r := range t.Recipients {
		add(r.Arg, "target", r.Value)
	}
	for _, cmd := range t.Commands {
		add(cmd.Arg, "run", orUnknown(cmd.Name))
	}
	for _, p := range t.Paths {
		if w := accessWord(p.Access); w != "" {
			add(p.Arg, w, p.Clean)
		}
	}
	all = keepFirstEntries(all, maxTouches)
	var k truncator // its own: these texts stand in the arguments and are counted there
	for i := range all {
		all[i] = k.cut(all[i], maxTouch)
	}
	return all
}

// keepFirstEntries keeps the first n entries and says how many more there were.
func keepFirstEntries(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(list[:n:n], fmt.Sprintf("and %d more", len(list)-n))
}

func orUnknown(name string) string {
	if name == "" {
		return "an unknown program"
	}
	return name
}

// accessWord names the gravest access; a path that is only mentioned is none.
func accessWord(a touch.Access) string {
	switch {
	case a.Has(touch.Delete) && a.Has(touch.Write):
		return "change or delete"
	case a.Has(touch.Delete):
		return "delete"
	case a.Has(touch.Execute):
		return "execute"
	case a.Has(touch.Write):
		return "write"
	case a.Has(touch.Read):
		return "read"
	}
	return ""
}

// escapeUnseen writes the invisible characters of a JSON text as escapes. The text means
// the same, and shows what was hidden. json.Marshal escapes those of ASCII, but for
// the last.
func escapeUnseen(doc string) string {
	if strings.IndexFunc(doc, isUnseenRune) < 0 {
		return doc
	}
	var b strings.Builder
	for _, r := range doc {
		switch {
		case !isUnseenRune(r):
			b.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// isUnseenRune reports whether a character has no shape of its own: controls, marks of
// direction, joiners, tags, variation selectors, fillers.
func isUnseenRune(r rune) bool {
	return r >= unicode.MaxASCII && runes.IsInvisible(r)
}
