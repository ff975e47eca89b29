package orchestrator

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/agents"
)

// Bounds of an Assistant's texts in bytes.
const (
	maxPrompt  = 16 << 10
	maxPersona = 4 << 10
	maxLocale  = 64
)

// Assistant is how requests are worked on, in the operator's words. What it leaves empty is as the
// configuration says for all. A request that is under way keeps its assistant over restarts.
type Assistant struct {
	// Prompt takes the place of orchestrator.prompt, of at most 16 KiB.
	Prompt string `json:"prompt,omitempty"`
	// Persona says how answers sound, in at most 4 KiB. It follows the instructions.
	Persona string `json:"persona,omitempty"`
	// Locale is the language, and the region, of answers: "de-AT".
	Locale string `json:"locale,omitempty"`
	// Orchestrator and Agents name models that take the place of roles.orchestrator and
	// roles.agent: the first that answers.
	Orchestrator []string `json:"orchestrator,omitempty"`
	Agents       []string `json:"agents,omitempty"`
	// Intent says what the trusted intent of a request is to it. A request that is under way keeps what it was allowed.
	Intent IntentMode `json:"intent,omitempty"`
	// Bounds narrow the limits of a turn.
	Bounds TurnBounds `json:"bounds,omitzero"`
}

// TurnBounds narrow the configured limits of one turn; zero narrows nothing. They never widen.
type TurnBounds struct {
	// Agents is how many agents a turn may dispatch.
	Agents int `json:"agents,omitempty"`
	// Calls is how many calls each of them may propose.
	Calls int `json:"calls,omitempty"`
	// Tokens is what the turn may have spent, with its agents, when its model is asked.
	Tokens int64 `json:"tokens,omitempty"`
}

// checkAssistant refuses what is no assistant.
func (a *Assistant) checkAssistant(m *roleModels) error {
	for _, f := range []struct {
		name, text string
		most       int
	}{{"prompt", a.Prompt, maxPrompt}, {"persona", a.Persona, maxPersona}, {"locale", a.Locale, maxLocale}} {
		if len(f.text) > f.most || !utf8.ValidString(f.text) {
			return fmt.Errorf("%w: the %s of an assistant is text of at most %d bytes", ErrRequest, f.name, f.most)
		}
	}
	for _, list := range [][]string{a.Orchestrator, a.Agents} {
		if len(m.chain(list)) != len(list) {
			return fmt.Errorf("%w: a model of the assistant isn't configured", ErrRequest)
		}
	}
	switch a.Intent {
	case IntentOfConfig, IntentOff:
	case IntentAdvisory, IntentRequired:
		if m.parts.Intake == nil {
			return fmt.Errorf("%w: an assistant asks for intents, and the configuration has no intent", ErrRequest)
		}
	default:
		return fmt.Errorf("%w: the intent of an assistant is required, advisory or off", ErrRequest)
	}
	if a.Bounds.Agents < 0 || a.Bounds.Calls < 0 || a.Bounds.Tokens < 0 {
		return fmt.Errorf("%w: a bound of an assistant is negative", ErrRequest)
	}
	return nil
}

// describe is what the model is told of the assistant besides its instructions.
func (a *Assistant) describe() string {
	var b strings.Builder
	if p := strings.TrimSpace(a.Persona); p != "" {
		b.WriteString("\nHow you answer:\n" + p + "\n")
	}
	if a.Locale != "" {
		b.WriteString("\nAnswer for the locale " + a.Locale + ", unless the user writes in another language.\n")
	}
	return b.String()
}

// chain returns the models of these names, as far as there are such.
func (m *roleModels) chain(names []string) (out agents.Chain) {
	for _, name := range names {
		if one, ok := m.parts.NamedModel(name); ok {
			out = append(out, one)
		}
	}
	return out
}

// pickModel returns the models of these names, or the usual one where there are none.
func (m *roleModels) pickModel(names []string, usual agents.Model) agents.Model {
	if c := m.chain(names); len(c) > 0 {
		return c
	}
	return usual
}
