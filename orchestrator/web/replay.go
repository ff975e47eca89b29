package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/orchestrator/records/query"
)

// ReplayAsked is what a reviewer wants to know: how calls would be decided with one more rule, or under the
// configuration as it is.
type ReplayAsked struct {
	Query query.Query
	// Rule is a permission rule on one line; empty compares with what was decided then.
	Rule string
	// By is who asks.
	By string
}

// ReplayReport is what a replay comes to. It holds no value.
type ReplayReport struct {
	Effect                                           string
	Calls, Same, Changed, Tighter, Looser, Uncertain int
	Groups                                           []ReplayGroup
}

// ReplayGroup are calls with the same change, or that can't be decided again for the same reason.
type ReplayGroup struct {
	Title  string
	Calls  int
	Skills string
	// Examples are decisions.
	Examples []ReplayExample
}

// ReplayExample is one decision.
type ReplayExample struct{ Decision, Skill, User, Was, Now string }

// Replayer decides recorded calls again; nil leaves the page out. An error that wraps ErrRule is told to the person.
type Replayer func(ctx context.Context, asked ReplayAsked) (*ReplayReport, error)

// ErrRule says that a rule can't be tried.
var ErrRule = errors.New("the rule can't be tried")

// replayFor bounds a replay for a page, and maxRule its rule in bytes.
const (
	replayFor = 30 * time.Second
	maxRule   = 4096
)

// replays are the page of replay. A rule's condition can be asked about values one by one, so it is for those who may
// read values. One replay runs at a time: it is much work, and decisions need the processors.
type replays struct {
	*Pages
	busy chan struct{}
}

func (s replays) register(mux *http.ServeMux) {
	mux.HandleFunc("GET /log/replay", s.forScope(access.Values, s.onAsk))
	mux.HandleFunc("POST /log/replay", s.forScope(access.Values, s.onReplay))
}

// replayView is the page.
type replayView struct {
	Query, Rule, Problem, CSRF string
	Report                     *ReplayReport
	Within                     time.Duration
}

func (s replays) onAsk(w http.ResponseWriter, r *http.Request, v *visitor) {
	line := r.URL.Query().Get("q")
	if line == "" {
		line = "since:7d"
	}
	s.showReplay(w, http.StatusOK, v, replayView{Query: markText(line)})
}

func (s replays) showReplay(w http.ResponseWriter, status int, v *visitor, out replayView) {
	out.CSRF, out.Within = v.sessionToken, replayFor
	s.show(w, status, "replay", viewFor(v, "replay", "Replay", out))
}

func (s replays) onReplay(w http.ResponseWriter, r *http.Request, v *visitor) {
	form, ok := s.readOwnForm(w, r, v, "q", "rule")
	if !ok {
		return
	}
	line, rule := form["q"], strings.TrimSpace(form["rule"])
	out := replayView{Query: markText(line), Rule: markText(rule)}
	q, err := query.Parse(line, s.o.Now())
	switch {
	case err != nil:
		out.Problem = err.Error()
	case len(rule) > maxRule || strings.Contains(rule, "\n") || !utf8.ValidString(rule):
		out.Problem = "A rule is one line of 4,096 bytes at most, such as {skill: email.send, then: ask}."
	}
	if out.Problem != "" {
		s.showReplay(w, http.StatusUnprocessableEntity, v, out)
		return
	}
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	default:
		out.Problem = "Another replay runs. Try again once it has ended."
		s.showReplay(w, http.StatusServiceUnavailable, v, out)
		return
	}
	s.o.Log.Warn("recorded calls are decided again for a page", "by", v.principal.Name, "request_id", problem.RequestID(r.Context()))
	ctx, cancel := context.WithTimeout(r.Context(), replayFor)
	defer cancel()
	out.Report, err = s.o.Replay(ctx, ReplayAsked{Query: q, Rule: rule, By: v.principal.Name})
	switch {
	case r.Context().Err() != nil:
	case errors.Is(err, context.DeadlineExceeded):
		out.Problem = "There are too many calls for this page. Narrow the query, or use vedette replay."
		s.showReplay(w, http.StatusUnprocessableEntity, v, out)
	case errors.Is(err, ErrRule):
		out.Problem = err.Error()
		s.showReplay(w, http.StatusUnprocessableEntity, v, out)
	case err != nil:
		s.showBroken(w, r, v, err)
	default:
		s.showReplay(w, http.StatusOK, v, out)
	}
}
