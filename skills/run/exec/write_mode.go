package exec

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
)

// The values of the write_mode option.
const (
	WriteDirect   = "direct"
	WriteSnapshot = "snapshot"
)

// maxDeleted is how much a program may remove by snapshot before a person is asked.
type maxDeleted struct {
	Files   int `json:"files"`
	Percent int `json:"percent"`
}

// The defaults of max_deleted.
const (
	defaultDeletedFiles   = 50
	defaultDeletedPercent = 20
)

// checkWrite returns the mistakes in how a program writes.
func (c *config) checkWrite(at string) error {
	var errs []error
	if c.WriteMode != "" {
		errs = append(errs, decode.OneOf(at+".write_mode", "write_mode", c.WriteMode, WriteDirect, WriteSnapshot))
	}
	if c.WriteLimit < 0 {
		errs = append(errs, &skills.PathError{Path: at + ".write_limit", Msg: "must be at least 1"})
	}
	if c.MaxDeleted.Files < 0 || c.MaxDeleted.Percent < 0 || c.MaxDeleted.Percent > 100 {
		errs = append(errs, &skills.PathError{Path: at + ".max_deleted", Msg: "takes files of at least 1 and percent from 1 to 100"})
	}
	if c.WriteMode == WriteDirect && (c.WriteLimit != 0 || c.MaxDeleted != (maxDeleted{})) {
		msg := "is direct, so write_limit and max_deleted bind nothing; leave them out"
		errs = append(errs, &skills.PathError{Path: at + ".write_mode", Msg: msg})
	}
	return errors.Join(errs...)
}

// chooseWriteMode settles the mode and its bounds. It is snapshot for a skill that takes a
// command line and has write roots, where this system was given a place for it and the
// roots can have it. A mode that is written and can't be had is a mistake.
func (c *config) chooseWriteMode(at string, takesShell bool, o snapshots) error {
	why := o.whyDirect(c)
	if wanted := c.WriteMode == WriteSnapshot || c.WriteMode == "" && takesShell; wanted && why == "" {
		why = o.tryRoots(c.Write)
	}
	switch {
	case c.WriteMode == WriteSnapshot && why != "":
		return &skills.PathError{Path: at + ".write_mode", Msg: "can't be snapshot: " + why}
	case c.WriteMode == "" && why == "" && takesShell:
		c.WriteMode = WriteSnapshot
	case c.WriteMode == "":
		c.WriteMode = WriteDirect
	}
	if c.MaxDeleted.Files == 0 {
		c.MaxDeleted.Files = defaultDeletedFiles
	}
	if c.MaxDeleted.Percent == 0 {
		c.MaxDeleted.Percent = defaultDeletedPercent
	}
	return nil
}

// snapshots is what this system gives to programs that write by snapshot.
type snapshots struct {
	state       string // where layers are kept; empty: there are none
	canSnapshot func(folder string) error
}

// whyDirect returns why a program with these options can't write by snapshot; empty if it can.
func (o snapshots) whyDirect(c *config) string {
	switch {
	case o.state == "":
		return "there is no state folder for what isn't committed yet"
	case c.Isolation != IsolationAuto && c.Isolation != IsolationFull && c.Isolation != IsolationNamespaces:
		return "the isolation has no file system of its own; set isolation to full"
	case len(c.Write) == 0:
		return "the program writes nowhere; name its folders under write"
	}
	for _, w := range c.Write {
		st, err := os.Stat(w)
		if err == nil && !st.IsDir() || strings.HasPrefix(w, "/dev/") {
			return "one of write is no folder; name the folder that it is in"
		}
	}
	return ""
}

// tryRoots asks of each write root whether it can be an overlay here; empty if all can.
func (o snapshots) tryRoots(roots []string) string {
	if o.canSnapshot == nil {
		return ""
	}
	for _, w := range roots {
		if err := o.canSnapshot(w); err != nil {
			return err.Error()
		}
	}
	return ""
}

// WriteModeOf returns how a skill of kind exec writes on this system. The mode is empty for
// one that writes nowhere, and where its options are mistaken, which New tells. The text why
// is set where it can't write by snapshot. With WriteDirect nothing but that decided, and the
// skill takes a command line; with WriteSnapshot the skill names that mode, and New refuses
// it.
func WriteModeOf(s *skills.Skill, o Options) (mode, why string) {
	if s.Spec().Run.Kind != "exec" {
		return "", ""
	}
	p := &program{config: config{Isolation: IsolationAuto}, snapshots: snapshots{o.State, o.CanSnapshot}}
	base, err := filepath.Abs(o.Dir)
	if err != nil || decode.Options(s.Spec().Run.Options, "", &p.config) != nil || p.resolvePaths("", base) != nil || len(p.Write) == 0 {
		return "", ""
	}
	if p.WriteMode == WriteDirect || p.WriteMode == "" && !s.TakesShell() {
		return WriteDirect, ""
	}
	if why = p.snapshots.whyDirect(&p.config); why == "" {
		why = p.snapshots.tryRoots(p.Write)
	}
	if why != "" && p.WriteMode == "" {
		return WriteDirect, why
	}
	return WriteSnapshot, why
}

// Writer is a skill that runs a program with write roots.
type Writer struct {
	Skill string
	// Mode is how it writes, and Why is why that is not by snapshot: see WriteModeOf.
	Mode, Why string
}

// ListWriters returns the skills that run programs with write roots, and how each of them
// writes on this system. Of Options it reads Dir, State and CanSnapshot.
func ListWriters(list []*skills.Skill, o Options) (out []Writer) {
	for _, s := range list {
		if mode, why := WriteModeOf(s, o); mode != "" {
			out = append(out, Writer{s.Name(), mode, why})
		}
	}
	return out
}
