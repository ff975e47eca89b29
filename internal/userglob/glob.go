// Package userglob matches ids of users against patterns. Permission rules and the rules of
// who may approve read patterns alike.
//
//	g, mistake := userglob.Parse("guest-*")
//	g.Matches("guest-17")
//
// What not to do: don't take a text that Parse refuses for plain characters. It would match
// no user, and a rule that narrows would narrow for no user.
package userglob

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Glob is a pattern of user ids. Its zero value matches the empty id alone. It is not a pattern of paths: a user's id may
// hold a slash, as an issuer's URL often does. So a slash is a character like
// others.
type Glob []part

// part is one step of a Glob. It is a run of any characters, or one character that
// is or is not among some ranges.
type part struct {
	any    bool // *
	not    bool
	ranges [][2]rune
}

// everyRune is what ? stands for.
var everyRune = [2]rune{0, utf8.MaxRune}

// Parse reads a pattern. The message says what is wrong with it; it is empty for
// a good one. Parse refuses what other kinds of glob read in another way. Taken
// as plain characters such a pattern would match no user, and a rule that denies
// would deny no user.
func Parse(s string) (g Glob, mistake string) {
	if s == "" {
		return nil, "is empty; write a user's id, with * and ? for what may differ"
	}
	if !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
		return nil, "is not valid UTF-8 text"
	}
	rest := []rune(s)
	for len(rest) > 0 {
		p, n, mistake := nextPart(rest)
		if mistake != "" {
			return nil, mistake
		}
		g, rest = append(g, p), rest[n:]
	}
	return g, ""
}

// nextPart reads the first part of a pattern that isn't empty, and how many
// characters it takes.
func nextPart(s []rune) (p part, n int, mistake string) {
	switch s[0] {
	case '*':
		if len(s) > 1 && s[1] == '*' {
			return p, 0, "has **, which means no more than *: one * matches any characters, / among them"
		}
		return part{any: true}, 1, ""
	case '?':
		return part{ranges: [][2]rune{everyRune}}, 1, ""
	case '{', '}':
		return p, 0, "has a brace, and braces list nothing here; write an entry for each spelling, or [{] for the character itself"
	case '\\':
		return p, 0, `has a backslash, and it escapes nothing here; write [*] for the character *, or [\] for a backslash`
	case ']':
		return p, 0, "has a ] without a [ before it; write []] for the character itself"
	case '[':
		return parseClass(s)
	}
	return part{ranges: [][2]rune{{s[0], s[0]}}}, 1, ""
}

// parseClass reads [abc], [a-z] or [^a-z]. A ] that comes first, and a - that
// comes first or last, stand for themselves.
func parseClass(s []rune) (p part, n int, mistake string) {
	i := 1
	if i < len(s) && s[i] == '!' {
		return p, 0, "has [! at the beginning of a class; write [^ for characters that may not stand there"
	}
	if i < len(s) && s[i] == '^' {
		p.not, i = true, i+1
	}
	for first := i; ; {
		switch {
		case i >= len(s):
			return p, 0, "has a [ without a ] after it; write [[] for the character itself"
		case s[i] == ']' && i > first:
			return p, i + 1, ""
		case i+2 < len(s) && s[i+1] == '-' && s[i+2] != ']':
			if s[i] > s[i+2] {
				return p, 0, "has a range whose end comes before its beginning"
			}
			p.ranges, i = append(p.ranges, [2]rune{s[i], s[i+2]}), i+3
		default:
			p.ranges, i = append(p.ranges, [2]rune{s[i], s[i]}), i+1
		}
	}
}

// matchesRune reports whether the part, which is no star, stands for r.
func (p part) matchesRune(r rune) bool {
	in := slices.ContainsFunc(p.ranges, func(b [2]rune) bool { return b[0] <= r && r <= b[1] })
	return in != p.not
}

// Matches reports whether the Glob describes the whole text. It never goes back
// further than to the last star. So its cost is at most the product of the
// lengths.
func (g Glob) Matches(text string) bool {
	s := []rune(text)
	gi, si, star, from := 0, 0, -1, 0
	for si < len(s) {
		switch {
		case gi < len(g) && g[gi].any:
			star, from, gi = gi, si, gi+1
		case gi < len(g) && g[gi].matchesRune(s[si]):
			gi, si = gi+1, si+1
		case star >= 0:
			from++
			gi, si = star+1, from
		default:
			return false
		}
	}
	for gi < len(g) && g[gi].any {
		gi++
	}
	return gi == len(g)
}
