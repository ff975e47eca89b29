package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/pause"
	"github.com/vedette-dev/vedette/skills"
)

// pauses are the operations on the kill switch.
type pauses struct{ *API }

func (s pauses) register() {
	admin := []access.Scope{access.Admin}
	register(s.API, operation{
		id: "list-pauses", method: http.MethodGet, path: "/v1/pauses", tag: "pauses", scopes: []access.Scope{access.Admin, access.Review},
		summary: "List what is paused",
	}, s.onList)
	register(s.API, operation{
		id: "begin-pause", method: http.MethodPost, path: "/v1/pauses", tag: "pauses", scopes: admin, keyed: true,
		summary: "Pause a user, a skill or all",
		description: "The pause holds before the answer comes. What runs goes on; what waits for a person or for its places will not start. " +
			"A `warning` says that the pause holds and could not be written down, or told to other processes.",
	}, s.onBegin)
	register(s.API, operation{
		id: "lift-pause", method: http.MethodPost, path: "/v1/pauses/lift", tag: "pauses", scopes: admin, keyed: true,
		summary: "Lift a pause",
	}, s.onLift)
}

type pauseList struct {
	Body struct {
		Data []pause.Pause `json:"data" nullable:"false"`
	}
}

func (s pauses) onList(context.Context, access.Principal, *struct{}) (*pauseList, error) {
	out := &pauseList{}
	out.Body.Data = append([]pause.Pause{}, s.o.Orchestrator.Parts().Pauses.List()...)
	return out, nil
}

// pauseTarget is what is paused: exactly one of the three.
type pauseTarget struct {
	Body struct {
		All   bool   `json:"all,omitempty"`
		User  string `json:"user,omitempty" maxLength:"128"`
		Skill string `json:"skill,omitempty" maxLength:"128" doc:"A skill, or a domain: email.*"`
	}
}

// read returns the target, where it is one that could stop something: a typo must not look like a pause.
func (in *pauseTarget) read(reg *skills.Registry) (pause.Target, error) {
	t := pause.Target{All: in.Body.All, User: in.Body.User, Skill: in.Body.Skill}
	if t.User != "" && access.CheckUser(t.User) != nil {
		return t, fmt.Errorf("%w: that is no user's id, so nothing would stop", pause.ErrTarget)
	}
	if t.Skill == "" {
		return t, nil
	}
	scope, err := skills.NewScope(t.Skill)
	if err != nil || !slices.ContainsFunc(reg.Names(), scope.Allows) {
		hint := ""
		if near := skills.Nearest(t.Skill, reg.Names()); near != "" {
			hint = "; did you mean " + near + "?"
		}
		return t, problem.New(problem.Invalid, pause.ErrUnknown.Error()+hint)
	}
	return t, nil
}

type begunPause struct {
	Body struct {
		Pause    pause.Pause         `json:"pause"`
		InFlight []sentinel.InFlight `json:"in_flight" nullable:"false" doc:"The calls that were under way."`
		Warning  string              `json:"warning,omitempty"`
	}
}

func (s pauses) onBegin(ctx context.Context, p access.Principal, in *pauseTarget) (*begunPause, error) {
	parts := s.o.Orchestrator.Parts()
	t, err := in.read(parts.Registry)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeFor) // it isn't lost with the caller
	defer cancel()
	begun, err := parts.Pauses.Pause(ctx, t, p.Name)
	out := &begunPause{}
	if errors.Is(err, pause.ErrNotWritten) || errors.Is(err, pause.ErrNotShared) {
		out.Body.Warning, err = describeWarning(err), nil
	}
	if err != nil {
		return nil, err
	}
	s.o.Log.Warn("work was paused", "scope", t.Scope(), "by", p.Name)
	out.Body.Pause, out.Body.InFlight = begun, append([]sentinel.InFlight{}, parts.InFlight()...)
	return out, nil
}

// describeWarning says what is wrong with a pause that holds, without the words of the store.
func describeWarning(err error) string {
	var said []string
	for _, known := range []error{pause.ErrNotWritten, pause.ErrNotShared} {
		if errors.Is(err, known) {
			said = append(said, known.Error())
		}
	}
	return strings.Join(said, "; ")
}

type liftedPause struct {
	Body struct {
		Lifted bool          `json:"lifted" doc:"False where there was no such pause."`
		Left   []pause.Pause `json:"left" nullable:"false" doc:"The pauses that are still in force."`
	}
}

func (s pauses) onLift(ctx context.Context, p access.Principal, in *pauseTarget) (*liftedPause, error) {
	parts := s.o.Orchestrator.Parts()
	t := pause.Target{All: in.Body.All, User: in.Body.User, Skill: in.Body.Skill}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeFor)
	defer cancel()
	lifted, err := parts.Pauses.Lift(ctx, t, p.Name)
	if err != nil {
		return nil, err
	}
	if lifted {
		s.o.Log.Warn("a pause was lifted", "scope", t.Scope(), "by", p.Name)
	}
	out := &liftedPause{}
	out.Body.Lifted, out.Body.Left = lifted, append([]pause.Pause{}, parts.Pauses.List()...)
	return out, nil
}
