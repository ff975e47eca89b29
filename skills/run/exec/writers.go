package exec

import (
	"context"

	"github.com/vedette-dev/vedette/skills"
)

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

// ProbeOnce returns an Options.CanSnapshot that tries each folder once, however many skills
// name it. It must not be called by several goroutines at once.
func ProbeOnce(ctx context.Context, state string) func(folder string) error {
	tried := map[string]error{}
	return func(folder string) error {
		err, known := tried[folder]
		if !known {
			err = ProbeSnapshot(ctx, state, folder)
			tried[folder] = err
		}
		return err
	}
}
