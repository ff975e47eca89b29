package assembly

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/run/exec"
)

// snapshotFolder is where programs' changes wait until they are committed. It is beside
// the database, and as protected.
func snapshotFolder(cfg *config.Config) string {
	return filepath.Join(filepath.Dir(cfg.Ledger.Path), "snapshots")
}

// newLayers returns the changes of programs that wait in the snapshot folder.
func newLayers(cfg *config.Config) exec.Layers { return exec.Layers{State: snapshotFolder(cfg)} }

// listSkills returns the skills of the configuration.
func listSkills(cfg *config.Config) []*skills.Skill {
	out := make([]*skills.Skill, len(cfg.Skills))
	for i, l := range cfg.Skills {
		out[i] = l.Skill
	}
	return out
}

// listNoUndo returns the skills whose command lines write to folders at once, for want of a
// snapshot. Each is logged. Without canSnapshot, what only a trial tells is left out.
func listNoUndo(cfg *config.Config, canSnapshot func(folder string) error, log *slog.Logger) (names []string) {
	for _, w := range listWriters(cfg, canSnapshot) {
		if w.Mode == exec.WriteDirect && w.Why != "" {
			names = append(names, w.Skill)
			log.Warn("a skill can't write by snapshot: a person is asked about each command line that does more than read",
				"skill", w.Skill, "why", w.Why)
		}
	}
	return names
}

// Writers tries for each skill that runs a program how it writes on this system. It starts
// a small program over each write root, of which nothing stays; exec.MaybeChild must have
// been called first in main.
func Writers(ctx context.Context, cfg *config.Config) []exec.Writer {
	if _, err := os.Stat(snapshotFolder(cfg)); errors.Is(err, fs.ErrNotExist) {
		defer func() { _ = os.Remove(snapshotFolder(cfg)) }() // it may be another user's who runs this
	}
	return listWriters(cfg, exec.ProbeOnce(ctx, snapshotFolder(cfg)))
}

// listWriters returns the configuration's skills that write, and how.
func listWriters(cfg *config.Config, canSnapshot func(folder string) error) []exec.Writer {
	return exec.ListWriters(listSkills(cfg), exec.Options{Dir: folderOfOptions(cfg), State: snapshotFolder(cfg), CanSnapshot: canSnapshot})
}
