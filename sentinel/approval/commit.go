package approval

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
)

// commitShown is what a person reads of the arguments of a call that commits what a program
// wrote: see exec.CommitSpec. The digest covers the changes that aren't listed.
type commitShown struct {
	Digest                          string
	Roots                           []string
	Created, Changed, Deleted, Lost int
	Later, Left, Overwritten        int
	Bytes                           int64
	Paths                           []commitPath
	More                            int
}

// commitPath is one of the changes.
type commitPath struct {
	Path, Kind, Type, Target, Note, Mode, Attrs string
	Bytes                                       int64
	Lost                                        int
}

// writeChanges lists what a program wrote and what a yes makes true, what matters most first. It
// reports false for a call that commits nothing.
func (s *sheet) writeChanges(c sentinel.Call) bool {
	first, follows := c.Follows()
	var a commitShown
	if !follows || json.Unmarshal([]byte(c.Args()), &a) != nil || a.Digest == "" {
		return false
	}
	s.writeRow("after", s.formatSkillName(first.Name())+", which has run in its sandbox; what it wrote is nowhere else yet")
	s.writeRow("in", s.quote(strings.Join(a.Roots, ", "), maxShown))
	s.writeRow("changes", fmt.Sprintf("%d created, %d changed, %d deleted; %d bytes to write", a.Created, a.Changed, a.Deleted, a.Bytes))
	if a.Lost > 0 {
		s.writeRow("", fmt.Sprintf("files that are gone, emptied or replaced: %d", a.Lost))
	}
	if a.Overwritten > 0 {
		s.writeRow("", fmt.Sprintf("files of whose old content less than half is left: %d", a.Overwritten))
	}
	if a.Later > 0 {
		s.writeRow("", fmt.Sprintf("paths that others run later, unasked: %d", a.Later))
	}
	if a.Left > 0 {
		s.writeRow("", fmt.Sprintf("paths that can't be committed and are left out: %d", a.Left))
	}
	for i, p := range a.Paths {
		if i == maxPaths {
			break
		}
		s.writeRow(kindLabel(p.Kind), s.describeChange(p))
	}
	if more := a.More + max(len(a.Paths)-maxPaths, 0); more > 0 {
		s.cut++
		s.writeRow("more", fmt.Sprintf("…and %d more changes, not shown; the digest covers them", more))
	}
	s.writeRow("digest", s.quote(a.Digest, maxShown))
	return true
}

// describeChange is one change as text.
func (s *sheet) describeChange(p commitPath) string {
	text := s.quote(p.Path, maxShown) + fmt.Sprintf(", %d bytes", p.Bytes)
	if p.Type != "" && p.Type != "file" {
		text += ", a " + s.showPlain(p.Type)
	}
	if p.Target != "" {
		text += " to " + s.quote(p.Target, maxShown)
	}
	if p.Lost > 1 {
		text += fmt.Sprintf(", %d files with it", p.Lost)
	}
	if p.Mode != "" {
		text += ", permissions " + s.showPlain(p.Mode)
	}
	if p.Attrs != "" {
		text += ", " + s.quote(p.Attrs, maxShown)
	}
	if p.Note != "" {
		text += ": " + s.showPlain(noteText(p.Note))
	}
	return text
}

// kindLabel is the label of a change's row.
func kindLabel(kind string) string {
	switch kind {
	case "created", "changed", "deleted", "replaced":
		return kind
	case "attributes":
		return "mode"
	case "touched":
		return "time"
	}
	return "change"
}

// noteText says for people why a change stands out.
func noteText(note string) string {
	switch note {
	case "runs_later":
		return "others run it later, unasked"
	case "refused":
		return "it can't be committed and is left out"
	case "overwritten":
		return "its old content is gone"
	}
	return note
}
