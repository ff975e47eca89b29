package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/pause"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills/run/exec"
)

// Bounds of the room that the database's disk has left, in bytes.
const (
	noRoom     = 100 << 20
	littleRoom = 1 << 30
)

// verifyTime is how long the ledger is verified for.
const verifyTime = time.Minute

// examineStore looks at the database: as a process would open it, where none has.
func (e *exam) examineStore(ctx context.Context) {
	path := e.cfg.Ledger.Path
	e.checkDisk(filepath.Dir(path))
	if _, err := store.FindNewest(path); errors.Is(err, store.ErrNoFile) {
		e.examineNewStore(filepath.Dir(path))
		return
	}
	held := ""
	switch pid, running := e.askProcess(ctx); {
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
	e.readStore(ctx, path, held)
}

// examineNewStore looks at the folder that a database would be made in.
func (e *exam) examineNewStore(dir string) {
	if err := checkWritable(dir); err != nil {
		e.problem("store", "there is none yet, and its folder can't be written to: "+plainCause(err),
			"make "+dir+" and let this user write there")
		return
	}
	e.ok("store", "there is none yet; it is made when Vedette first starts")
}

// readStore reads what the file says of itself.
func (e *exam) readStore(ctx context.Context, path, held string) {
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

// askProcess asks the process that has the database open, if one answers.
func (e *exam) askProcess(ctx context.Context) (pid int, running bool) {
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

func (e *exam) checkDisk(dir string) {
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

// examineLedger verifies what is recorded, and says what that can't exclude.
func (e *exam) examineLedger(ctx context.Context) {
	key, err := os.ReadFile(filepath.Join(e.cfg.Keys.Dir, "ledger.pub"))
	if _, serr := store.FindNewest(e.cfg.Ledger.Path); errors.Is(serr, store.ErrNoFile) {
		return // the store has said so
	}
	if err != nil {
		e.problem("ledger", "its public key can't be read: "+plainCause(err), "restore ledger.pub, or name the folder in keys.dir")
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
	e.examineAnchors(ctx, r)
}

// examineAnchors compares the newest head with what the anchors have of the ledger.
func (e *exam) examineAnchors(ctx context.Context, r ledger.Report) {
	list, err := assembly.ReadAnchors(ctx, e.cfg, e.offline)
	if err != nil || len(list) == 0 { // mistakes are the configuration's
		e.warn("anchors", "no signed head is kept elsewhere: a cut tail or an older copy of the file can't be excluded",
			"name a place under ledger.anchors, or keep what vedette ledger head prints where this machine can't write")
		return
	}
	var newest ledger.Head // of the file that is written to
	if r.Newest != nil {
		newest = *r.Newest
	}
	for _, a := range list {
		e.judgeAnchor(a, newest)
	}
}

// judgeAnchor says what an anchor's answer comes to.
func (e *exam) judgeAnchor(a assembly.KeptHeads, newest ledger.Head) {
	kept, have := a.Largest[newest.Origin], newest.Size
	const advice = "see vedette status; vedette ledger anchor sends the newest head now"
	name := "anchor " + a.Anchor
	switch {
	case a.Unasked:
		e.ok(name, "it was not asked")
	case a.WriteOnly:
		e.ok(name, "heads are sent there, and it gives none back to compare with")
	case a.Err != nil:
		e.warn(name, a.Err.Error(), "a start can't compare the ledger with it; "+advice)
	case kept == 0 && have > 0:
		e.warn(name, "it has no head of this ledger yet", advice)
	case kept > have:
		e.problem(name, fmt.Sprintf("it has a head of %d records, and the database %d: an older copy, or its end was cut off", kept, have),
			"put the newest copy back; vedette ledger verify --head FILE says more")
	default:
		e.ok(name, "its newest head covers %d of %d records", kept, have)
	}
}

// examinePauses says what an operator has stopped.
func (e *exam) examinePauses(ctx context.Context) {
	list, err := e.listPauses(ctx)
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

// listPauses asks the process, which knows best, and otherwise the database.
func (e *exam) listPauses(ctx context.Context) ([]pause.Pause, error) {
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

// examineFiles looks at who else may read what is secret.
func (e *exam) examineFiles(context.Context) {
	if runtime.GOOS == "windows" {
		e.ok("files", "this system's permissions are not looked at")
		return
	}
	before := len(e.findings)
	e.checkLiteralKeys()
	for _, folder := range []string{e.cfg.Keys.Dir, store.Folder(e.cfg.Ledger.Path)} {
		e.checkPrivate(folder, 0o077, "chmod 700")
	}
	list, _ := filepath.Glob(filepath.Join(escapeGlob(e.cfg.Keys.Dir), "*.key"))
	files, _ := store.FindFiles(e.cfg.Ledger.Path)
	for _, f := range files {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			list = append(list, f.Path+suffix)
		}
	}
	for _, path := range append(list, control.SocketPath(e.cfg.Ledger.Path)) {
		e.checkPrivate(path, 0o077, "chmod 600")
	}
	if len(e.findings) == before {
		e.ok("files", "keys, database and socket are their owner's alone")
	}
}

// escapeGlob is a path as a pattern that stands for itself.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// checkPrivate finds what others may open; what isn't there is open to no user.
func (e *exam) checkPrivate(path string, forbidden fs.FileMode, command string) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		e.problem("files", path+" can't be looked at: "+plainCause(err), "run this as the user that Vedette runs as")
	case info.Mode().Perm()&forbidden != 0:
		e.problem("files", fmt.Sprintf("%s has mode %04o: others may open it", path, info.Mode().Perm()),
			command+" "+path+"; if others have read a key, replace it")
	}
}

// checkLiteralKeys finds keys that stand in a configuration that others can read.
func (e *exam) checkLiteralKeys() {
	paths := []string{"limits.store.url", "server.auth.oidc.sign_in.client_secret"}
	for _, name := range slices.Sorted(maps.Keys(e.cfg.Models)) {
		paths = append(paths, "models."+name+".api_key")
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return !e.cfg.Literal(path) })
	if len(paths) == 0 {
		return
	}
	at, _ := e.cfg.Pos(paths[0]) // all of them can only stand in the configuration itself
	info, err := os.Stat(at.File)
	if err != nil || info.Mode().Perm()&0o044 == 0 {
		return
	}
	e.problem("files", fmt.Sprintf("%s has mode %04o and a key stands in it: %s", at.File, info.Mode().Perm(), nameFirst(paths)),
		"take keys from the environment, ${NAME}, or chmod 600 "+at.File)
}

// examineRoots looks at the folders that agents work in. That none of them holds what
// decides is part of the configuration's check.
func (e *exam) examineRoots(context.Context) {
	if len(e.cfg.Guard.Roots) == 0 {
		e.warn("roots", "guard.roots is empty: no folder binds what calls may name", "name the folders that agents work in")
		return
	}
	bad := false
	for _, dir := range e.cfg.Guard.Roots {
		if err := checkWritable(dir); err != nil {
			bad = true
			e.problem("roots", dir+" can't be worked in: "+plainCause(err),
				"make it a folder that this user can write to, or take it out of guard.roots")
		}
	}
	if !bad {
		e.ok("roots", "%d, writable, none of them with what decides in it", len(e.cfg.Guard.Roots))
	}
}

// examineSandbox tries what keeps programs that skills run in their place.
func (e *exam) examineSandbox(ctx context.Context) {
	var users []string
	for _, s := range e.cfg.Skills {
		if s.Skill.Spec().Run.Kind == "exec" {
			users = append(users, s.Skill.Name())
		}
	}
	if len(users) == 0 {
		e.ok("sandbox", "no skill runs a program")
		return
	}
	grade, err := exec.Probe(ctx)
	var step *exec.StepError
	switch {
	case err == nil && !exec.BoundsProcesses(ctx):
		e.warn("sandbox", "programs run under "+grade+", but as root nothing limits their number of processes",
			"run Vedette as an ordinary user, delegate a cgroup v2 with pids to it (Delegate=yes), or use Linux 6.14 or newer; skills: "+
				nameFirst(users))
	case err == nil:
		e.ok("sandbox", "programs run under %s", grade)
	case !errors.As(err, &step):
		e.problem("sandbox", "programs can't be run: "+err.Error(), "skills that run programs: "+nameFirst(users))
	case grade != "":
		e.warn("sandbox", "programs run under "+grade+" alone, and only where a skill reads: full fails at step "+step.Step+": "+
			plainCause(step.Err),
			step.Remedy+"; skills: "+nameFirst(users))
	default:
		e.problem("sandbox", "no program is started: full fails at step "+step.Step+": "+plainCause(step.Err),
			step.Remedy+"; skills: "+nameFirst(users))
	}
}

// examineSnapshots tries whether what command lines write can be held until it is committed.
func (e *exam) examineSnapshots(ctx context.Context) {
	whys := map[string][]string{}
	held, direct := 0, 0
	for _, w := range assembly.Writers(ctx, e.cfg) {
		switch {
		case w.Why != "" && w.Mode == exec.WriteSnapshot:
			e.problem("snapshot", w.Skill+" names write_mode snapshot and can't have it: "+w.Why, snapshotRemedy)
		case w.Why != "":
			whys[w.Why] = append(whys[w.Why], w.Skill)
		case w.Mode == exec.WriteSnapshot:
			held++
		default:
			direct++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(whys)) {
		e.warn("snapshot", "nothing undoes what command lines write, so a person is asked about each that does more than read: "+why,
			snapshotRemedy+"; skills: "+nameFirst(whys[why]))
	}
	if len(whys) == 0 && held+direct > 0 {
		e.ok("snapshot", "%d skills write by snapshot, %d directly", held, direct)
	}
}

const snapshotRemedy = "put write roots and state folder on a file system that holds overlays, such " +
	"as ext4 or xfs (a volume in a container), and see the sandbox above"

// checkWritable reports why a folder can't be written to, without writing.
func checkWritable(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("it is no folder")
	}
	return checkAccess(dir)
}

// plainCause is an error without the path that its message repeats.
func plainCause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// examineLimits asks the server that counts.
func (e *exam) examineLimits(ctx context.Context) {
	s := e.cfg.Limits.Store
	switch {
	case s.Driver != config.LimitsOnRedis:
		e.ok("limits", "counted in memory: each process has budgets of its own, and a restart begins them at zero")
		return
	case e.offline:
		e.ok("limits", "the server of limits.store was not asked")
		return
	}
	store, err := redisstore.Open(redisstore.Options{URL: s.URL.Reveal(), Timeout: max(s.Timeout, time.Second), Prefix: s.Prefix})
	if err != nil {
		e.problem("limits", "limits.store.url "+err.Error(), "correct it")
		return
	}
	info, err := store.Inspect(ctx)
	_ = store.Close() // nothing was written
	switch {
	case errors.Is(err, limits.ErrAway):
		e.problem("limits", "the server of limits.store can't be reached: limits.store.when_away decides",
			"start it, and check limits.store.url and the firewall")
		return
	case err != nil:
		e.problem("limits", "the server of limits.store refuses: "+err.Error(),
			"every call is denied until it answers: check user, password and rights in limits.store.url")
		return
	}
	e.ok("limits", "Redis %s answers", info.Version)
	e.checkSkew("limits clock", "the server", info.Skew, true)
	e.checkPersistence(info)
}

// checkPersistence says whether counts can get lost.
func (e *exam) checkPersistence(i redisstore.Info) {
	switch i.Policy {
	case "":
		e.warn("limits eviction", "the server does not tell its maxmemory-policy", "let its user run INFO, or make sure that it is noeviction")
	case "noeviction", "volatile-ttl":
		e.ok("limits eviction", "maxmemory-policy is %s", i.Policy)
	default:
		e.problem("limits eviction", fmt.Sprintf("maxmemory-policy is %s: a count that is evicted is a limit that is lifted", i.Policy),
			"set maxmemory-policy to noeviction")
	}
	switch {
	case !i.Told:
		e.warn("limits persistence", "the server does not tell whether it keeps an append-only file", "let its user run INFO")
	case !i.AOF:
		e.warn("limits persistence", "no append-only file is kept: a restart of the server begins every budget at zero", "set appendonly to yes")
	default:
		e.ok("limits persistence", "an append-only file is kept")
	}
}
