// Package template runs a skill that answers with a fixed text from its
// configuration: `run: {template: "text"}`. Nothing is done and no argument is
// looked at; the result is marked as a template, so that neither a model nor a
// reviewer takes it for something that happened.
//
// Use it for skills that are only announced, in demonstrations and in trials of
// a policy. Do not use it to stand in for a skill that has an effect in
// production: the model is told what the text says, whatever is true.
//
// The package isn't stable: docs/api.md lists those that are. Programs
// reach it through orchestrator/assembly.
package template

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
)

// Options has nothing to set. It is there so that every way to run a skill is
// made alike.
type Options struct{}

// New returns the Executor of a skill of kind "template". Its options are the
// text itself. The error is a *skills.PathError at "run.template".
func New(s *skills.Skill, r skills.Redeemer, _ Options) (skills.Executor, error) {
	at, err := decode.Start(s, r, "template")
	if err != nil {
		return nil, err
	}
	var text *string
	raw := s.Spec().Run.Options
	if json.Unmarshal(raw, &text) != nil || text == nil || !utf8.Valid(raw) {
		return nil, &skills.PathError{Path: at, Msg: "must be a text: what the skill always answers"}
	}
	if len(*text) > skills.MaxResult {
		return nil, &skills.PathError{Path: at, Msg: fmt.Sprintf("is %d bytes long; at most %d are allowed", len(*text), skills.MaxResult)}
	}
	res := skills.Result{Content: *text, Isolation: "in process", Template: true}
	return skills.NewExecutor(r, s, func(context.Context, skills.Order) (skills.Result, error) { return res, nil }), nil
}
