package bash

import "slices"

// choice is a word of a command that is one of several: where its fields stand among the
// others, and the fields of each.
type choice struct {
	from, to int
	alts     [][]field
}

// maxReadings is how many values of such words are tried each by itself. Shells take a
// word for a line by its place, so that more are tried for them.
const maxReadings = 16

// runReadings runs a command. All values of a word stand side by side in it, which moves
// the words behind them: so each is read aside in its own place as well.
func runReadings(s *shell, head, rest []field, choices []choice, in stream) stream {
	argv := slices.Clip(rest) // nothing is added behind them
	if len(head) > 0 {
		argv = slices.Concat(head, rest)
	}
	if len(argv) == 0 {
		return stream{open: true}
	}
	if len(choices) == 0 {
		return s.runWords(argv, in)
	}
	from := len(s.out.Paths)
	list, printed := readChoices(s, head, rest, choices, in)
	combined := readCombined(s, head, rest, choices, in)
	out := s.runWords(argv, in)
	out.whole = printed.whole && len(out.others) == 0
	out.others = append(out.others, printed.others...)
	for _, t := range list {
		takeReading(s, t, from, true)
	}
	for _, t := range combined {
		takeReading(s, t, from, false)
	}
	return out
}

// readChoices reads a command once for each value of its words, and returns what it finds
// and prints. With several such words the values are paired, which leaves out others.
func readChoices(s *shell, head, rest []field, choices []choice, in stream) (list []*Findings, printed stream) {
	n, most := 0, maxReadings
	if len(head) > 0 && isShellName(programName(head[0].text)) {
		most = maxAlts
	}
	for _, c := range choices {
		n = max(n, len(c.alts))
	}
	printed.whole = len(choices) == 1 && n <= most
	for i := range min(n, most) {
		argv := pickValues(head, rest, choices, func(c int) int { return min(i, len(choices[c].alts)-1) })
		if len(argv) == 0 || s.budget.over {
			continue
		}
		list = append(list, s.readAside(func(g *shell) {
			out := g.runWords(argv, in)
			if printed.whole = printed.whole && out.known; out.known {
				printed.others = append(append(printed.others, out.text), out.others...)
			}
		}))
	}
	return list, printed
}

// pickValues returns the words of a command with one value of each choice, by its number.
func pickValues(head, rest []field, choices []choice, number func(c int) int) []field {
	argv, at := slices.Clone(head), 0
	for i, c := range choices {
		argv = append(append(argv, rest[at:c.from]...), c.alts[number(i)]...)
		at = c.to
	}
	return append(argv, rest[at:]...)
}

// readCombined reads a command with those combinations of its words' values that readChoices leaves
// out, where they are few. The values of words that are set together don't combine.
func readCombined(s *shell, head, rest []field, choices []choice, in stream) (list []*Findings) {
	all := 1
	for _, c := range choices {
		if all *= len(c.alts); all > maxReadings {
			return nil
		}
	}
	for i := range all {
		left, paired := i, true
		at := make([]int, len(choices))
		for c := range choices {
			n := len(choices[c].alts)
			at[c], left = left%n, left/n
			paired = paired && at[c] == min(at[0], n-1)
		}
		argv := pickValues(head, rest, choices, func(c int) int { return at[c] })
		if len(choices) < 2 || paired || len(argv) == 0 || s.budget.over {
			continue
		}
		list = append(list, s.readAside(func(g *shell) { g.runWords(argv, in) }))
	}
	return list
}

// hasOther reports whether another word may stand in place of a field.
func hasOther(f field) bool { return f.unsure && f.other != f.text }

// readOther reads a command with the words that may stand in place of its own. One that is
// then empty is none.
func readOther(s *shell, argv []field, in stream) (t *Findings, text string, known bool) {
	words := make([]field, 0, len(argv))
	for _, f := range argv {
		if hasOther(f) {
			if f.other == "" {
				continue
			}
			f.text, f.bare, f.other, f.unsure = f.other, f.other, "", false
		}
		words = append(words, f)
	}
	if len(words) == 0 {
		return &Findings{}, "", false
	}
	t = s.readAside(func(g *shell) {
		out := g.runWords(words, in)
		text, known = out.text, out.known
	})
	return t, text, known
}

// takeReading adds what a command does in another reading of its words. Where that may not
// be the right one, a danger is a doubt. The paths of the command start at from.
func takeReading(s *shell, t *Findings, from int, sure bool) {
	if !sure && hasNew(s.out.Dangers, t.Dangers) && !slices.Contains(s.out.Doubts, UnsetTree) {
		s.addDoubt(OpaqueCommand)
	}
	if !sure {
		t.Dangers = nil
	}
	s.takeFindings(t)
	for _, code := range t.Doubts {
		s.addDoubt(code)
	}
	for _, p := range t.Paths {
		if !slices.Contains(s.out.Paths[from:], p) && s.budget.TakeBytes(len(p.Raw)+64) {
			s.out.Paths = append(s.out.Paths, p)
		}
	}
}
