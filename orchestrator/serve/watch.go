package serve

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
)

// Reloading is how a Service takes up a changed configuration while it runs.
type Reloading struct {
	// Load reads the configuration again; nil keeps the one of the start.
	Load func() (*config.Config, error)
	// Hangup has it read at once, whatever the files look like: SIGHUP.
	Hangup <-chan os.Signal
	// Told, where it is set, is called after each reload, for tests and programs that show it.
	Told func(orchestrator.ReloadStatus)
}

// What asked for a reload.
const (
	byFile   = "file"
	bySignal = "signal"
)

const (
	// settleTime is how long files must be left alone before they are read: an editor writes, renames
	// and sets rights in several steps, and a checkout writes many files.
	settleTime = 300 * time.Millisecond
	// settleMost is how long changes may go on before the files are read all the same.
	settleMost = 3 * time.Second
)

// watcher reloads when the files of the configuration change, or a signal says so.
type watcher struct {
	o   Reloading
	run *orchestrator.Orchestrator
	log *slog.Logger

	files   *fsnotify.Watcher // nil where the system gives none: signals are heard all the same
	folders map[string]bool   // that are watched
	names   map[string]bool   // files that were read, with their whole paths
}

// watchConfiguration returns what reloads the configuration of a process; it holds no goroutine.
func watchConfiguration(o Reloading, run *orchestrator.Orchestrator, log *slog.Logger) *watcher {
	w := &watcher{o: o, run: run, log: log, folders: map[string]bool{}}
	files, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("changes of the configuration's files are not seen; SIGHUP has them read", "error", err)
	} else {
		w.files = files
	}
	w.follow()
	return w
}

// serve waits for changes until ctx ends.
func (w *watcher) serve(ctx context.Context) {
	var events <-chan fsnotify.Event
	var errs <-chan error
	if w.files != nil {
		defer func() { _ = w.files.Close() }()
		events, errs = w.files.Events, w.files.Errors
	}
	var quiet settling
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.o.Hangup:
			w.reload(ctx, bySignal)
		case e := <-events:
			if w.concerns(e.Name) {
				timer.Reset(quiet.note(time.Now()))
			}
		case err := <-errs: // events were lost, perhaps the one that counts
			w.log.Warn("changes of the configuration's files may have been missed; they are read", "error", err)
			timer.Reset(quiet.note(time.Now()))
		case <-timer.C:
			quiet = settling{}
			w.reload(ctx, byFile)
		}
	}
}

// reload has the configuration read, and follows its files. A panic must not end the process.
func (w *watcher) reload(ctx context.Context, by string) {
	defer func() {
		if recover() != nil {
			w.log.Error("a reload broke; the configuration before stays in force", "stack", string(debug.Stack()))
		}
	}()
	load := w.o.Load
	if by == byFile {
		load = w.loadFiles
	}
	w.follow()                          // before the read: what changes after it is seen
	s, _ := w.run.Reload(ctx, by, load) // it is logged, and in Health and Status
	w.follow()
	if w.o.Told != nil {
		w.o.Told(s)
	}
}

// loadFiles reads files that have changed. They may be half written: a file that ends early has fewer rules and can be
// whole to every reader. So what lets more through waits for an operator's signal, which says that they are whole.
func (w *watcher) loadFiles() (*config.Config, error) {
	next, err := w.o.Load()
	running := w.run.Parts().Running()
	if err != nil || !running.Reload.AllowLoosening {
		return next, err // a reload refuses what loosens
	}
	lines := []string{"the changed files let more through, and may be half written; send SIGHUP once they are whole, and it is taken up:"}
	for _, c := range w.run.Parts().Compare(next) {
		switch c.Kind {
		case config.Tightens, config.Neutral:
		case config.Loosens:
			lines = append(lines, c.String())
		default:
			return next, nil // a reload refuses what needs a restart
		}
	}
	if len(lines) > 1 {
		return nil, errors.New(strings.Join(lines, "\n"))
	}
	return next, nil
}

// follow watches the folders of all files that the running configuration was read from, and those
// that its patterns begin in. Folders and not files: an editor puts another file in the old one's place.
func (w *watcher) follow() {
	cfg := w.run.Parts().Running()
	w.names = map[string]bool{}
	want := map[string]bool{}
	for _, f := range cfg.Files {
		w.names[f] = true
		want[filepath.Dir(f)] = true
		if real, err := filepath.EvalSymlinks(f); err == nil {
			w.names[real] = true
			want[filepath.Dir(real)] = true
		}
	}
	if len(cfg.Files) > 0 {
		for _, pattern := range cfg.SkillFiles.Include {
			want[baseFolder(filepath.Dir(cfg.Files[0]), pattern)] = true
		}
	}
	if w.files == nil {
		return
	}
	for dir := range want {
		if err := w.files.Add(dir); err != nil && !errors.Is(err, fsnotify.ErrClosed) && !w.folders[dir] {
			w.log.Warn("a folder of the configuration can't be watched; SIGHUP has it read", "folder", dir, "error", err)
		}
		w.folders[dir] = true
	}
}

// baseFolder is the folder that a pattern of files below dir begins in.
func baseFolder(dir, pattern string) string {
	parts := strings.Split(filepath.ToSlash(pattern), "/")
	n := slices.IndexFunc(parts, func(p string) bool { return strings.ContainsAny(p, `*?[{\`) })
	if n < 0 {
		n = len(parts) - 1
	}
	base := filepath.FromSlash(strings.Join(parts[:n], "/"))
	if filepath.IsAbs(filepath.FromSlash(pattern)) {
		return filepath.Clean(base + string(filepath.Separator))
	}
	return filepath.Join(dir, base)
}

// concerns reports whether a change of that name may change the configuration: a file that was read, one
// that could be, or a link in whose place another was put, as clusters do with a whole folder. The
// database in the same folder concerns nothing.
func (w *watcher) concerns(name string) bool {
	if w.names[name] || w.folders[name] || strings.HasPrefix(filepath.Base(name), "..") {
		return true
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml", ".md":
		return true
	}
	return false
}

// settling says how long to wait until files are left alone.
type settling struct{ first time.Time }

// note takes a change into account and returns how long to wait from now.
func (s *settling) note(now time.Time) time.Duration {
	if s.first.IsZero() {
		s.first = now
	}
	return max(0, min(settleTime, settleMost-now.Sub(s.first)))
}
