package config

import (
	"strings"

	"github.com/vedette-dev/vedette/internal/scrub"
)

// expansion is a value with its ${NAME} references replaced.
type expansion struct {
	text    string
	outside bool     // some of it came from the environment
	missing []string // names that have no value and no default
	bad     string   // what is wrong with the syntax, if anything
}

// expandReferences replaces ${NAME} and ${NAME:-default} in s; $${ stands for ${. As in
// a shell, a default also replaces an empty value.
func expandReferences(s string, env func(string) (string, bool)) expansion {
	var out strings.Builder
	x := expansion{}
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			out.WriteString(s)
			x.text = out.String()
			return x
		}
		if i > 0 && s[i-1] == '$' {
			out.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		out.WriteString(s[:i])
		s = s[i+2:]
		end := strings.IndexByte(s, '}')
		if end < 0 {
			x.bad = "${ without }; write $${ for the characters themselves"
			return x
		}
		name, def, hasDef := strings.Cut(s[:end], ":-")
		s = s[end+1:]
		if !isEnvName(name) || strings.Contains(def, "${") {
			x.bad = "only ${NAME} and ${NAME:-default} are replaced; write $${ for the characters themselves"
			return x
		}
		v, ok := env(name)
		switch {
		case ok && (v != "" || !hasDef):
			out.WriteString(v)
			x.outside = true
		case hasDef:
			out.WriteString(def)
		default:
			x.missing = append(x.missing, name)
		}
	}
}

// isEnvName reports whether s may be the name of a variable.
func isEnvName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || (c|0x20 >= 'a' && c|0x20 <= 'z')
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// scrubber takes values of the environment out of messages, also those of other packages.
// A value of less than scrub.MinWhole bytes is too common a text to search messages for
// ("1", "true"). Where such a value is itself the mistake, messages leave it out by what
// its node says.
type scrubber struct {
	env   func(string) (string, bool)
	seen  map[string]bool // names whose values clean knows
	clean *scrub.Scrubber
}

// lookupEnv looks up a variable and remembers its value.
func (s *scrubber) lookupEnv(name string) (string, bool) {
	v, ok := s.env(name)
	if ok && !s.seen[name] {
		s.seen[name] = true
		s.clean = s.clean.Join(scrub.NewWhole(redacted, v))
	}
	return v, ok
}

// hideValues replaces every value that the environment gave.
func (s *scrubber) hideValues(msg string) string { return s.clean.Text(msg) }
