package skills

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Registry maps names to Skills. It is immutable: a reload makes a new one.
// It holds no Executor. The zero value knows no skill.
type Registry struct {
	byName map[string]*Skill
}

// NewRegistry returns a Registry of the skills, or an error for every name
// that stands twice.
func NewRegistry(list ...*Skill) (*Registry, error) {
	r := &Registry{byName: make(map[string]*Skill, len(list))}
	var errs []error
	for _, s := range list {
		if r.byName[s.Name()] != nil {
			errs = append(errs, fmt.Errorf("skill %q is declared twice", s.Name()))
			continue
		}
		r.byName[s.Name()] = s
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

// Get returns the skill of that name; ok is false for an unknown one. A nil
// Registry knows none.
func (r *Registry) Get(name string) (s *Skill, ok bool) {
	if r == nil {
		return nil, false
	}
	s, ok = r.byName[name]
	return s, ok
}

// Names returns all names, sorted.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.byName)) }

// Len returns how many skills there are.
func (r *Registry) Len() int { return len(r.byName) }

// InScope returns the names that the scope allows, sorted. CommitName is never among them.
func (r *Registry) InScope(s Scope) []string {
	return slices.DeleteFunc(r.Names(), func(n string) bool { return !s.Allows(n) || n == CommitName })
}

// TakesSecrets reports whether a skill that the scope allows has an x-secret argument. What
// a model wrote for a skill that there isn't may then hold a secret: see HiddenArgs.
func (r *Registry) TakesSecrets(s Scope) bool {
	return slices.ContainsFunc(r.InScope(s), func(name string) bool {
		skill, ok := r.Get(name)
		return ok && skill.Secretive()
	})
}
