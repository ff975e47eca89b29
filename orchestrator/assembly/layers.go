package assembly

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/run/exec"
)

// expiryGrace is how long after its time a question about a commit is left to the desk
// that may be at work on it.
const expiryGrace = time.Minute

// snapshotFolder is where programs' changes wait until they are committed. It is beside
// the database, and as protected.
func snapshotFolder(cfg *config.Config) string {
	return filepath.Join(filepath.Dir(cfg.Ledger.Path), "snapshots")
}

// needsCommit reports whether a skill of the configuration may write by snapshot, or what
// one wrote waits still: the skill may be gone from the configuration since.
func needsCommit(cfg *config.Config) bool {
	if left, err := exec.LeftLayers(snapshotFolder(cfg)); err == nil && len(left) > 0 {
		return true
	}
	for _, l := range cfg.Skills {
		var o struct {
			Write []string `json:"write"`
		}
		run := l.Skill.Spec().Run
		if run.Kind == "exec" && json.Unmarshal(run.Options, &o) == nil && len(o.Write) > 0 {
			return true
		}
	}
	return false
}

// canSnapshot tries a write root once, however many skills name it.
func canSnapshot(ctx context.Context, cfg *config.Config) func(folder string) error {
	tried := map[string]error{}
	return func(folder string) error {
		err, known := tried[folder]
		if !known {
			err = exec.ProbeSnapshot(ctx, snapshotFolder(cfg), folder)
			tried[folder] = err
		}
		return err
	}
}

// listNoUndo are the skills whose command lines write to folders at once, since no snapshot
// can be had; each is logged. Without canSnapshot, what only a trial tells is left out.
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

// Writer is a skill that runs a program with write roots.
type Writer struct {
	Skill string
	// Mode is how it writes, and Why is why that is not by snapshot: see exec.WriteModeOf.
	Mode, Why string
}

// Writers tries for each skill that runs a program how it writes on this system. It starts
// a small program over each write root, of which nothing stays; exec.MaybeChild must have
// been called first in main.
func Writers(ctx context.Context, cfg *config.Config) []Writer {
	if _, err := os.Stat(snapshotFolder(cfg)); errors.Is(err, fs.ErrNotExist) {
		defer func() { _ = os.Remove(snapshotFolder(cfg)) }() // it may be another user's who runs this
	}
	return listWriters(cfg, canSnapshot(ctx, cfg))
}

func listWriters(cfg *config.Config, canSnapshot func(folder string) error) (out []Writer) {
	o := exec.Options{Dir: optionsFolder(cfg), State: snapshotFolder(cfg), CanSnapshot: canSnapshot}
	for _, l := range cfg.Skills {
		if mode, why := exec.WriteModeOf(l.Skill, o); mode != "" {
			out = append(out, Writer{l.Skill.Name(), mode, why})
		}
	}
	return out
}

// settleLayers ends what earlier processes left uncommitted: what was allowed is
// committed, what a person is still asked about waits, the rest is thrown away. What can't
// be settled stays, and is logged. It must run before the first call of this process, and
// before settleInterrupted.
func (p *Parts) settleLayers(ctx context.Context) error {
	if _, ok := p.Registry.Get(skills.CommitName); !ok {
		return nil
	}
	state := snapshotFolder(p.Config)
	list, err := exec.LeftLayers(state)
	if err != nil {
		return err
	}
	for _, l := range list {
		left := sentinel.FollowOver
		if l.CallID != "" {
			if left, err = p.Checkpoint.SettleFollow(ctx, l.CallID); err != nil {
				p.log.Error("what a program wrote before the last process ended can't be settled; it is kept", "call", l.CallID, "error", err)
				continue
			}
		}
		switch left {
		case sentinel.FollowHeld:
			p.held = append(p.held, l.CallID)
			continue
		case sentinel.FollowUnknown:
			p.log.Warn("what a program wrote before the last process ended may be committed in part; the next start tries again",
				"call", l.CallID)
			continue
		}
		if err := exec.DropLayer(state, l.ID); err != nil {
			p.log.Warn("what a program wrote before the last process ended can't be thrown away", "call", l.CallID, "error", err)
		}
	}
	return nil
}

// expireLayers ends the questions about commits whose time is over and which no desk has
// put again: what waited for them is thrown away. A desk that is at work on one ends it by
// itself.
func (p *Parts) expireLayers(ctx context.Context) error {
	if _, ok := p.Registry.Get(skills.CommitName); !ok {
		return nil
	}
	list, err := p.Ledger.List(ctx, ledger.Query{
		Skill: skills.CommitName, Kind: sentinel.RecordHeld, Without: sentinel.RecordDecision, Limit: maxLeftHeld,
	})
	for _, r := range list {
		var b struct {
			ExpiresAt time.Time `json:"expires_at"`
		}
		if json.Unmarshal(r.Body, &b) != nil || p.now().Before(b.ExpiresAt.Add(expiryGrace)) {
			continue
		}
		err = errors.Join(err, p.Checkpoint.ExpireFollow(ctx, r.Call))
	}
	return err
}
