package sentinel

import "github.com/vedette-dev/vedette/skills"

// unknownArgs are the arguments of a call of an unknown skill as the journal may
// have them. No schema says what in them is secret; the skill may be one of the
// grant's, spelt wrong, so if any of those has secrets they are hidden whole.
func (p *Checkpoint) unknownArgs(c Call) []byte {
	for _, n := range p.o.Registry.InScope(c.Grant().Scope()) {
		if s, ok := p.o.Registry.Get(n); ok && s.Secretive() {
			return []byte(skills.HiddenArgs)
		}
	}
	return []byte(c.Args())
}

// shownArgs are the arguments of a call of a known skill as the journal may have
// them. In a malformed call a secret may stand under a name that is spelt wrong,
// so what no schema names is hidden too.
func shownArgs(c Call, malformed bool) []byte {
	if malformed {
		if shown, hidden := c.Skill().Redact([]byte(c.Args())); hidden {
			return shown
		}
	}
	return encode(c.Skill().WithoutSecrets(c.Parsed()))
}

// wellFormed reports whether the schema has let the call through; one that was
// stopped before has not been looked at.
func wellFormed(d Decision) bool {
	v, ok := d.Verdict(GateSchema)
	return ok && v.State == Judged && v.Outcome == Allow
}
