package skills

import (
	"fmt"
	"slices"
	"strings"
)

// Scope is the set of skills a grant allows: exact names and "domain.*". Its
// zero value allows nothing. A Scope is immutable.
type Scope struct {
	exact   map[string]bool
	domains []string // "email." allows every name that starts with it
	list    []string
}

// NewScope builds a Scope of exact names and of "domain.*" patterns. Any other
// pattern, and "*" alone, is an error: a typo must not widen.
func NewScope(names ...string) (Scope, error) {
	s := Scope{exact: make(map[string]bool, len(names))}
	for _, n := range names {
		if d, ok := strings.CutSuffix(n, ".*"); ok {
			if !ValidName(d+".x") || len(d) == 0 {
				return Scope{}, fmt.Errorf("scope %q: the part before .* must be a skill domain such as email", n)
			}
			s.domains = append(s.domains, d+".")
			s.list = append(s.list, n)
			continue
		}
		if !ValidName(n) {
			return Scope{}, fmt.Errorf("scope %q: must be a skill name such as email.read, or a domain such as email.*", n)
		}
		if !s.exact[n] {
			s.exact[n] = true
			s.list = append(s.list, n)
		}
	}
	slices.Sort(s.domains)
	s.domains = slices.Compact(s.domains)
	slices.Sort(s.list)
	s.list = slices.Compact(s.list)
	return s, nil
}

// Allows reports whether the skill is in the scope.
func (s Scope) Allows(skill string) bool {
	if s.exact[skill] {
		return true
	}
	for _, d := range s.domains {
		if strings.HasPrefix(skill, d) && len(skill) > len(d) {
			return true
		}
	}
	return false
}

// Within reports whether everything s allows is allowed by outer too, and
// returns the entries of s that are not.
func (s Scope) Within(outer Scope) (bool, []string) {
	var wider []string
	for _, n := range s.list {
		if d, ok := strings.CutSuffix(n, "*"); ok {
			if !slices.ContainsFunc(outer.domains, func(o string) bool { return strings.HasPrefix(d, o) }) {
				wider = append(wider, n)
			}
		} else if !outer.Allows(n) {
			wider = append(wider, n)
		}
	}
	return len(wider) == 0, wider
}

// Union returns a Scope that allows what either allows.
func (s Scope) Union(o Scope) Scope {
	u, _ := NewScope(append(s.List(), o.list...)...) // both were checked when made
	return u
}

// List returns the entries, sorted, as they were written.
func (s Scope) List() []string { return slices.Clone(s.list) }

// Empty reports whether the scope allows nothing.
func (s Scope) Empty() bool { return len(s.list) == 0 }
