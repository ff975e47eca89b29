package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
)

// RefusedReload is the error of a reload that lets more through, or that needs a restart.
type RefusedReload = assembly.RefusedReload

// The outcomes of a reload.
const (
	ReloadApplied   = "applied"   // the new configuration is in force
	ReloadUnchanged = "unchanged" // it says what the running one says
	ReloadRefused   = "refused"   // it lets more through, or needs a restart
	ReloadFailed    = "failed"    // it could not be read, or not be written down
)

// ReloadStatus is what a reload came to.
type ReloadStatus struct {
	At time.Time `json:"at"`
	// By is what asked for it: file, signal, or the program's own word.
	By      string `json:"by"`
	Outcome string `json:"outcome"`
	// Old and New are the digests of the policies; New is empty where none could be read.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
	// Changes are what differs, with the places in the files.
	Changes []string `json:"changes,omitempty"`
	// Error says why the configuration before is still in force.
	Error string `json:"error,omitempty"`
}

// keepsOld reports whether the files say something else than what is in force.
func (s ReloadStatus) keepsOld() bool { return s.Outcome == ReloadRefused || s.Outcome == ReloadFailed }

// reloads takes up configurations, one at a time, and remembers the last one.
type reloads struct {
	log *slog.Logger
	now func() time.Time

	busy sync.Mutex // one at a time
	mu   sync.Mutex
	last ReloadStatus
	from time.Time // since when the policy is in force
}

// reload reads a configuration and puts it in force.
func (r *reloads) reload(ctx context.Context, p *assembly.Parts, by string, load func() (*config.Config, error)) (ReloadStatus, error) {
	r.busy.Lock()
	defer r.busy.Unlock()
	s := ReloadStatus{By: by, Outcome: ReloadFailed, Old: p.Running().Digest()}
	cfg, err := load()
	if err == nil {
		var done assembly.Reload
		done, err = p.Reload(ctx, cfg, s.By)
		s.New = done.New
		for _, c := range done.Changes {
			s.Changes = append(s.Changes, string(c.Kind)+" "+c.String())
		}
		s.Outcome = outcomeOfReload(done, err)
	}
	if s.At = r.now().UTC(); err != nil {
		s.Error = err.Error()
	}
	r.tell(ctx, s)
	return s, err
}

// outcomeOfReload names what a configuration that could be read has come to.
func outcomeOfReload(done assembly.Reload, err error) string {
	var refused *assembly.RefusedReload
	switch {
	case errors.As(err, &refused):
		return ReloadRefused
	case err != nil:
		return ReloadFailed
	case len(done.Changes) == 0 && done.Old == done.New:
		return ReloadUnchanged
	}
	return ReloadApplied
}

// tell remembers a reload and logs it. The same failure again is logged once.
func (r *reloads) tell(ctx context.Context, s ReloadStatus) {
	r.mu.Lock()
	before := r.last
	r.last = s
	if s.Outcome == ReloadApplied && s.Old != s.New {
		r.from = s.At
	}
	r.mu.Unlock()
	switch {
	case s.keepsOld() && s.Outcome == before.Outcome && s.Error == before.Error:
	case s.keepsOld():
		r.log.LogAttrs(ctx, slog.LevelError, "the configuration was not reloaded; the one before stays in force",
			slog.String("by", s.By), slog.String("outcome", s.Outcome), slog.String("error", s.Error))
	case s.Outcome == ReloadApplied:
		r.log.LogAttrs(ctx, slog.LevelWarn, "the configuration was reloaded",
			slog.String("by", s.By), slog.String("old", s.Old), slog.String("new", s.New), slog.Int("changes", len(s.Changes)))
	case before.keepsOld():
		r.log.LogAttrs(ctx, slog.LevelInfo, "the files say again what is in force", slog.String("by", s.By))
	}
}

// newest returns the last reload, zero where none was, and since when the policy is in force.
func (r *reloads) newest() (last ReloadStatus, from time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.from
}
