package serve

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
)

// estate is a Service over real files that are changed while it runs.
type estate struct {
	*Service
	t    *testing.T
	dir  string
	log  *safeLog
	told chan orchestrator.ReloadStatus
	hup  chan os.Signal
}

const (
	estateHead = "version: 1\nmodels: {m: {model: x, base_url: \"http://127.0.0.1:1\"}}\nroles: {orchestrator: m, agent: m}\n" +
		"sentinel: {mode: \"off\"}\nserver: {listen: \"127.0.0.1:0\"}\nskills: {include: [\"skills/*.yaml\"]}\n"
	denySend = "permissions:\n  - {skill: mail.send, then: deny}\n"
	mailFile = "skills:\n  - {name: mail.send, effect: irreversible, parameters: {type: object}, run: {template: x}}\n" +
		"  - {name: mail.read, effect: read, parameters: {type: object}, run: {template: x}}\n"
)

func openEstate(t *testing.T, settings string) *estate {
	t.Helper()
	e := &estate{t: t, dir: t.TempDir(), log: &safeLog{}, told: make(chan orchestrator.ReloadStatus, 100), hup: make(chan os.Signal, 1)}
	require.NoError(t, os.Mkdir(filepath.Join(e.dir, "skills"), 0o700))
	e.write("skills/mail.yaml", mailFile)
	e.write("vedette.yaml", estateHead+settings)
	load := func() (*config.Config, error) {
		return config.Load(filepath.Join(e.dir, "vedette.yaml"), config.Options{})
	}
	cfg, err := load()
	require.NoError(t, err)
	e.Service, err = Start(t.Context(), cfg, Program{
		Options:   orchestrator.Options{Log: slog.New(slog.NewTextHandler(e.log, nil))},
		Reloading: Reloading{Load: load, Hangup: e.hup, Told: func(s orchestrator.ReloadStatus) { e.told <- s }},
	})
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	t.Cleanup(func() {
		end()
		require.NoError(t, <-ended)
	})
	return e
}

func (e *estate) write(name, text string) {
	e.t.Helper()
	require.NoError(e.t, os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o600))
}

// replace writes a file beside the old one and renames it, as editors do.
func (e *estate) replace(name, text string) {
	e.t.Helper()
	e.write(name+".new", text)
	require.NoError(e.t, os.Rename(filepath.Join(e.dir, name+".new"), filepath.Join(e.dir, name)))
}

// await returns the next reload with an outcome. A file may be read more than once after a change.
func (e *estate) await(outcome string) orchestrator.ReloadStatus {
	e.t.Helper()
	for s := range e.told {
		if s.Outcome == outcome {
			return s
		}
	}
	return orchestrator.ReloadStatus{}
}

// ready is what /readyz says of the configuration.
func (e *estate) ready() string {
	e.t.Helper()
	view := &stand{Server: e.Server}
	res, body := view.ask(e.t, "/readyz", nil)
	require.Equal(e.t, 200, res.StatusCode)
	_, state, _ := strings.Cut(body, `"configuration":"`)
	state, _, _ = strings.Cut(state, `"`)
	return state
}

// Files are written, renamed, broken and mended while the process runs: what is good and tightens is in
// force, everything else leaves the last good one, and health says so.
func TestReloadsFiles(t *testing.T) {
	e := openEstate(t, "")
	first := e.Live().Orchestrator.Parts().Checkpoint.PolicyDigest()
	require.Equal(t, OK, e.ready())

	e.write("vedette.yaml", estateHead+denySend)
	s := e.await(orchestrator.ReloadApplied)
	require.Equal(t, "file", s.By)
	require.Equal(t, first, s.Old)
	require.Equal(t, s.New, e.Live().Orchestrator.Parts().Checkpoint.PolicyDigest())
	require.Len(t, s.Changes, 1)
	require.Contains(t, s.Changes[0], "vedette.yaml:8:5: permissions[0]")

	e.replace("vedette.yaml", estateHead+denySend+"judge: {threshold: 0.40}\n")
	second := e.await(orchestrator.ReloadApplied).New

	e.write("vedette.yaml", estateHead+"permissions: [\n")
	s = e.await(orchestrator.ReloadFailed)
	require.Contains(t, s.Error, "vedette.yaml:")
	require.Equal(t, Degraded, e.ready())
	require.Equal(t, second, e.Live().Orchestrator.Parts().Checkpoint.PolicyDigest())

	require.NoError(t, os.Remove(filepath.Join(e.dir, "vedette.yaml")))
	for s = e.await(orchestrator.ReloadFailed); !strings.Contains(s.Error, "does not exist"); s = e.await(orchestrator.ReloadFailed) {
		require.Equal(t, Degraded, e.ready())
	}
	e.replace("vedette.yaml", estateHead+denySend+"judge: {threshold: 0.40}\n")
	e.await(orchestrator.ReloadUnchanged)
	require.Equal(t, OK, e.ready())

	e.replace("vedette.yaml", estateHead)
	s = e.await(orchestrator.ReloadRefused)
	require.Contains(t, s.Error, "vedette.yaml:8:5: permissions[0] (deny rule-1) of the running configuration is gone")
	require.Contains(t, s.Error, "judge.threshold lets more through")
	require.Equal(t, Degraded, e.ready())
	require.Contains(t, e.log.String(), "the configuration was not reloaded; the one before stays in force")
	require.Equal(t, second, e.Live().Orchestrator.Parts().Checkpoint.PolicyDigest())

	status := e.Live().Orchestrator.Status(t.Context())
	require.Equal(t, orchestrator.ReloadRefused, status.Reload.Outcome)
	require.Equal(t, second, status.Policy.Digest)
	require.True(t, status.Policy.Since.After(status.Started))
}

// A skill that its file has no more is withdrawn. A signal has the files read at once, and has what loosens
// taken up where the process was started to allow that. Files that change do not: they may be half written.
func TestReloadsIncludesAndSignals(t *testing.T) {
	e := openEstate(t, denySend+"reload: {allow_loosening: true}\n")
	e.replace("skills/mail.yaml", strings.Replace(mailFile, "  - {name: mail.read", "#", 1))
	s := e.await(orchestrator.ReloadApplied)
	require.Len(t, s.Changes, 1)
	require.Contains(t, s.Changes[0], "skills[mail.read] is gone: its calls are denied")

	e.write("skills/more.yaml", "skills:\n  - {name: a.b, effect: read, parameters: {type: object}, run: {template: x}}\n")
	require.Contains(t, e.await(orchestrator.ReloadRefused).Error, "more.yaml:2:5: skills[a.b] has nothing that runs it in this process")
	require.NoError(t, os.Remove(filepath.Join(e.dir, "skills", "more.yaml")))
	e.await(orchestrator.ReloadUnchanged)

	e.replace("vedette.yaml", estateHead+"reload: {allow_loosening: true}\n")
	s = e.await(orchestrator.ReloadFailed)
	require.Contains(t, s.Error, "send SIGHUP once they are whole")
	require.Contains(t, s.Error, "permissions[0] (deny rule-1) of the running configuration is gone")
	require.Equal(t, Degraded, e.ready())
	e.hup <- os.Interrupt // any
	require.Equal(t, "signal", e.await(orchestrator.ReloadApplied).By)
	e.hup <- os.Interrupt
	s = orchestrator.ReloadStatus{}
	for s.By != "signal" { // a file may be read more than once
		s = e.await(orchestrator.ReloadUnchanged)
	}
	require.Equal(t, OK, e.ready())
}

// Changes of a file go on: it is read all the same, within a bound.
func TestSettling(t *testing.T) {
	var s settling
	at := time.Unix(1, 0)
	require.Equal(t, settleTime, s.note(at))
	require.Equal(t, settleTime, s.note(at.Add(time.Second)))
	require.Equal(t, settleTime/3, s.note(at.Add(settleMost-settleTime/3)))
	require.Zero(t, s.note(at.Add(time.Hour)))
}

// The folders of all files and patterns are watched, and the database in one of them concerns nothing.
func TestWatchedFolders(t *testing.T) {
	e := openEstate(t, "")
	w := e.watch
	require.Equal(t, map[string]bool{e.dir: true, filepath.Join(e.dir, "skills"): true}, w.folders)
	for name, want := range map[string]bool{
		"vedette.yaml": true, "skills/mail.yaml": true, "skills/new.yml": true, "skills/SKILL.md": true, "..data": true, "": true,
		"vedette.db": false, "vedette.db-wal": false, "vedette.yaml~": false, ".vedette.yaml.swp": false,
	} {
		require.Equal(t, want, w.concerns(filepath.Join(e.dir, name)), name)
	}
	for pattern, want := range map[string]string{
		"skills/*.yaml": "/a/skills", "*.yaml": "/a", "one.yaml": "/a", "../b/**/SKILL.md": "/b", "/c/d/*.yaml": "/c/d", "/c.yaml": "/",
	} {
		require.Equal(t, want, baseFolder("/a", pattern), pattern)
	}
}

// A configuration that was read from no file has no folder, and a panic of a reload ends nothing.
func TestReloadThatPanics(t *testing.T) {
	e := openEstate(t, "")
	w := &watcher{o: Reloading{Load: func() (*config.Config, error) { panic("CANARY") }}, run: e.Live().Orchestrator,
		log: slog.New(slog.NewTextHandler(io.Discard, nil)), folders: map[string]bool{}}
	require.NotPanics(t, func() { w.reload(t.Context(), byFile) })
}
