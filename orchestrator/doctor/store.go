package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/pause"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// Bounds of the room that the database's disk has left, in bytes.
const (
	noRoom     = 100 << 20
	littleRoom = 1 << 30
)

// verifyTime is how long the ledger is verified for.
const verifyTime = time.Minute

// store looks at the database: as a process would open it, where none has.
func (e *exam) store(ctx context.Context) {
	path := e.cfg.Ledger.Path
	e.disk(filepath.Dir(path))
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		e.fresh(filepath.Dir(path))
		return
	}
	held := ""
	switch pid, running := e.process(ctx); {
	case running:
		held = fmt.Sprintf("; process %d has it open and answers", pid)
	default:
		s, err := store.Open(ctx, store.Options{Path: path, Driver: e.cfg.Ledger.Driver})
		switch {
		case errors.Is(err, store.ErrLocked):
			held = "; another process has it open and does not answer on its socket"
		case err != nil:
			e.problem("store", "it can't be opened: "+err.Error(), "see what the message says; a backup is better than a repair")
			return
		default:
			if err := s.Close(); err != nil {
				e.problem("store", "it can't be closed: "+err.Error(), "check the disk")
				return
			}
		}
	}
	e.inside(ctx, path, held)
}

// fresh looks at the folder that a database would be made in.
func (e *exam) fresh(dir string) {
	if err := writable(dir); err != nil {
		e.problem("store", "there is none yet, and its folder can't be written to: "+cause(err), "make "+dir+" and let this user write there")
		return
	}
	e.ok("store", "there is none yet; it is made when Vedette first starts")
}

// inside reads what the file says of itself.
func (e *exam) inside(ctx context.Context, path, held string) {
	r, err := store.OpenReader(ctx, path)
	if err != nil {
		e.problem("store", "it can't be read: "+err.Error(), "name Vedette's database in ledger.path")
		return
	}
	defer func() { _ = r.Close() }() // it was only read
	var mode string
	var tables, steps int
	if err := r.QueryRow(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		e.problem("store", "it can't be read: "+err.Error(), "name Vedette's database in ledger.path")
		return
	}
	// A file that no process has finished making has no such table.
	_ = r.QueryRow(ctx, "SELECT count(*), coalesce(sum(version), 0) FROM store_migrations").Scan(&tables, &steps)
	if mode != "wal" {
		e.problem("store", "its journal mode is "+mode+", not wal", "put the database on a local file system")
		return
	}
	e.ok("store", "it opens, journal mode %s, schema %d.%d%s", mode, tables, steps, held)
}

// process asks the process that has the database open, if one answers.
func (e *exam) process(ctx context.Context) (pid int, running bool) {
	var top struct {
		PID          int      `json:"pid"`
		CanaryFailed []string `json:"canary_failed"`
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := control.Dial(control.SocketPath(e.cfg.Ledger.Path)).Top(ctx, &top)
	for _, m := range top.CanaryFailed {
		e.problem("review", fmt.Sprintf("process %d has marked model %s: it failed its canaries", top.PID, m),
			"its verdicts carry canary: failed; ask its provider, or take another model")
	}
	return top.PID, err == nil
}

func (e *exam) disk(dir string) {
	free, known := freeBytes(dir)
	switch {
	case !known:
	case free < noRoom:
		e.problem("disk", fmt.Sprintf("%d MiB are left for the database", free>>20), "make room: what can't be recorded doesn't run")
	case free < littleRoom:
		e.warn("disk", fmt.Sprintf("%d MiB are left for the database", free>>20), "make room before nothing can be recorded")
	default:
		e.ok("disk", "%d GiB are left for the database", free>>30)
	}
}

// ledger verifies what is recorded, and says what that can't exclude.
func (e *exam) ledger(ctx context.Context) {
	key, err := os.ReadFile(filepath.Join(e.cfg.Keys.Dir, "ledger.pub"))
	if _, serr := os.Stat(e.cfg.Ledger.Path); errors.Is(serr, os.ErrNotExist) {
		return // the store has said so
	}
	if err != nil {
		e.problem("ledger", "its public key can't be read: "+cause(err), "restore ledger.pub, or name the folder in keys.dir")
		return
	}
	bound, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	r, err := ledger.Verify(bound, e.cfg.Ledger.Path, ledger.VerifyOptions{PublicKey: string(key)})
	switch {
	case errors.Is(err, ledger.ErrNoLedger):
		e.ok("ledger", "nothing is recorded yet")
		return
	case errors.Is(err, ledger.ErrTampered):
		e.problem("ledger", "it does not hold what was signed: "+err.Error(),
			"keep the file as it is and run vedette ledger verify; a backup that verifies shows what was changed")
		return
	case bound.Err() != nil:
		e.warn("ledger", fmt.Sprintf("verifying it takes more than %s", verifyTime), "run vedette ledger verify")
		return
	case err != nil:
		e.problem("ledger", "it can't be verified: "+err.Error(), "run vedette ledger verify")
		return
	}
	e.ok("ledger", "%d records agree with what was signed", r.Proved)
	e.warn("anchors", "no signed head is kept elsewhere: a cut tail or an older copy of the file can't be excluded",
		"keep what vedette ledger head prints where this machine can't write, and give it to vedette ledger verify --head")
}

// pauses says what an operator has stopped.
func (e *exam) pauses(ctx context.Context) {
	list, err := e.paused(ctx)
	if errors.Is(err, store.ErrNoFile) {
		return
	}
	if err != nil {
		e.problem("pauses", "they can't be read: "+err.Error(), "vedette pause lists those of a running process")
		return
	}
	if len(list) == 0 {
		e.ok("pauses", "nothing is paused")
	}
	for _, p := range list {
		what := p.Scope()
		if name := p.User + p.Skill; name != "" {
			what += " " + name
		}
		e.warn("pauses", fmt.Sprintf("paused: %s, since %s", what, p.Since.UTC().Format(time.RFC3339)),
			"lift it with vedette pause --lift when it is over")
	}
}

// paused asks the process, which knows best, and otherwise the database.
func (e *exam) paused(ctx context.Context) ([]pause.Pause, error) {
	asking, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if list, err := control.Dial(control.SocketPath(e.cfg.Ledger.Path)).Pauses(asking); err == nil {
		return list, nil
	}
	r, err := store.OpenReader(ctx, e.cfg.Ledger.Path)
	if err != nil {
		return nil, err
	}
	list, err := pause.Stored(ctx, r)
	return list, errors.Join(err, r.Close())
}
