package skills

// ArgMarks returns the annotations of a top-level argument, those of what may
// be in it included; declared is false where the schema doesn't name it. In a
// skill without annotations that is none at all: see Annotated.
func (s *Skill) ArgMarks(name string) (marks Annotation, declared bool) {
	n := s.notes.props[name]
	if n == nil {
		return 0, false
	}
	return s.notes.marks | n.any(), true
}
