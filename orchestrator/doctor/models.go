package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// maxSkew is how far clocks may be apart.
const maxSkew = 2 * time.Second

// models asks every model that has a role.
func (e *exam) models(ctx context.Context) {
	used := e.used()
	if len(used) == 0 {
		e.ok("models", "no role names one")
	}
	if idle := e.idle(used); len(idle) > 0 {
		e.ok("models", "not asked, for no role names them: %s", some(idle))
	}
	if len(used) == 0 {
		return
	}
	wires := map[string]*wire{}
	for _, name := range used {
		wires[name] = newWire()
	}
	d, err := assembly.NewDecider(e.cfg, assembly.DeciderOptions{Transport: func(name string) http.RoundTripper {
		if w := wires[name]; w != nil {
			return w
		}
		return http.DefaultTransport // it is in no role, so no part of the program asks it
	}})
	if err != nil {
		e.problem("models", err.Error(), "vedette validate shows where")
		return
	}
	defer d.Close()
	e.prompt(d.Review())
	if e.offline {
		e.ok("models", "not asked: %s", some(used))
		return
	}
	e.skipped = append(e.skipped, e.together(ctx, d, used, wires)...)
	for _, w := range wires {
		w.CloseIdleConnections()
	}
}

// used are the models of all roles and of second opinions, sorted.
func (e *exam) used() []string {
	names := map[string]bool{}
	for _, chain := range e.cfg.Roles {
		for _, name := range chain {
			names[name] = true
		}
	}
	for _, name := range e.cfg.Sentinel.Escalate.To {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// idle are the models that no role asks, sorted.
func (e *exam) idle(used []string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(e.cfg.Models)), func(name string) bool { return slices.Contains(used, name) })
}

func inReview(g *review.Gate, name string) bool { return g != nil && slices.Contains(g.Models(), name) }

// prompt says which criteria the review goes by.
func (e *exam) prompt(g *review.Gate) {
	switch {
	case g == nil:
	case e.cfg.Sentinel.Prompt != "":
		e.ok("prompt", "%s: criteria of your own, sentinel.prompt", g.State().Prompt)
	default:
		e.ok("prompt", "%s: Vedette's own", g.State().Prompt)
	}
}

// reach asks for one word.
func (e *exam) reach(ctx context.Context, m *llm.Client, w *wire) bool {
	_, err := m.Chat(ctx, llm.Request{MaxTokens: 2000, Messages: []llm.Message{{Role: llm.RoleUser, Content: "Answer with the word ready."}}})
	check := "model " + m.Name()
	var f *llm.Error
	if errors.As(err, &f) && f.Kind == llm.KindBadResponse && (f.Code == llm.CodeLength || f.Code == llm.CodeEmpty) {
		err = nil // it answered, and no role needs an answer to a question of ours
	}
	if err == nil {
		e.ok(check, "it answers")
		return true
	}
	message, advice := explain(f, w)
	e.problem(check, message, strings.ReplaceAll(advice, "models.NAME", "models."+m.Name()))
	return false
}

// explain says what a failed question means for the operator of the server.
func explain(f *llm.Error, w *wire) (message, advice string) {
	if f == nil {
		return "it could not be asked", "report this"
	}
	at := ""
	if f.Status != 0 {
		at = fmt.Sprintf(" (status %d)", f.Status)
	}
	switch {
	case f.Kind == llm.KindConnect:
		return w.broken()
	case f.Kind == llm.KindAuth:
		return "it refuses the key" + at, "check models.NAME.api_key, or the variable that it comes from"
	case f.Kind == llm.KindRequest && f.Status == http.StatusNotFound:
		return "the server knows no such model or path" + at, "check models.NAME.model and models.NAME.base_url, which usually ends in /v1"
	case f.Kind == llm.KindRequest && f.Code == llm.CodeRedirect:
		return "it sends requests elsewhere" + at, "name the address that it redirects to in models.NAME.base_url"
	case f.Kind == llm.KindRequest:
		return "it refuses the request" + at, "check models.NAME: reasoning, effort, legacy_max_tokens and model have to fit the server"
	case f.Kind == llm.KindRateLimited:
		return "it asks to be asked less, or its quota is spent" + at, "check the account's limits, and set models.NAME.requests_per_minute"
	case f.Kind == llm.KindServer:
		return "it fails" + at, "look at the server's log or status page"
	case f.Kind == llm.KindTimeout:
		return "it did not answer in time", "check the server, or raise models.NAME.timeout"
	case f.Kind == llm.KindCanceled:
		return "the question was given up", "run it again"
	}
	return "what answers is no chat-completions server", "check models.NAME.base_url, which usually ends in /v1"
}

func (e *exam) clock(of string, w *wire) {
	skew, known := w.clock()
	e.skew("clock", of, skew, known)
}

func (e *exam) skew(check, of string, skew time.Duration, known bool) {
	switch {
	case !known:
		e.ok(check, "%s tells no time to compare with", of)
	case skew.Abs() > maxSkew:
		e.warn(check, fmt.Sprintf("%s is %s %s this machine", of, skew.Abs().Round(time.Second), word(skew)),
			"set both clocks with NTP: tokens, records and budgets go by them")
	default:
		e.ok(check, "%s agrees within %s", of, maxSkew)
	}
}

func word(skew time.Duration) string {
	if skew < 0 {
		return "behind"
	}
	return "ahead of"
}

// probe is a shape that no answer has by itself.
const (
	probeName   = "doctor_probe"
	probeSchema = `{"type":"object","properties":{"colour":{"type":"string","enum":["amber","teal"]},"level":{"type":"integer"}},` +
		`"required":["colour","level"],"additionalProperties":false}`
)

// schema asks for an answer in a shape that the words of the question don't
// tell: a server that ignores the schema answers otherwise.
func (e *exam) schema(ctx context.Context, m *llm.Client) bool {
	way, words := m.Config().Schemaless, "Pick a colour and a level, whichever you like."
	if way == llm.ViaJSONObject { // it promises JSON alone, so the words must tell the rest
		words += " Answer in JSON, in this JSON Schema: " + probeSchema
	}
	r, err := m.Chat(ctx, llm.Request{MaxTokens: 2000, Schema: &llm.Schema{Name: probeName, Schema: json.RawMessage(probeSchema)},
		Messages: []llm.Message{{Role: llm.RoleUser, Content: words}}})
	check, how := "schema "+m.Name(), "json_schema"
	if way != "" {
		how = "schemaless: " + way
	}
	switch {
	case err != nil:
		e.problem(check, "it refuses or fails a request with "+how, schemaAdvice(way, m.Name()))
	case !holds(way, r):
		e.problem(check, how+" is not obeyed: the answer has another shape", schemaAdvice(way, m.Name()))
	default:
		e.ok(check, "%s is obeyed", how)
		return true
	}
	return false
}

func schemaAdvice(way, name string) string {
	switch way {
	case llm.ViaTool:
		return "set models." + name + ".schemaless to json_object, or take another model for the review"
	case llm.ViaJSONObject:
		return "take another model for the review"
	}
	return "set models." + name + ".json_schema to false and schemaless to tool or json_object, or update the server"
}

// holds reports whether an answer is in the shape that was asked for.
func holds(way string, r llm.Response) bool {
	text := r.Content
	if way == llm.ViaTool {
		if len(r.ToolCalls) != 1 || r.ToolCalls[0].Name != probeName {
			return false
		}
		text = r.ToolCalls[0].Arguments
	}
	var got struct {
		Colour *string `json:"colour"`
		Level  *int    `json:"level"`
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(&got) == nil && !d.More() && got.Level != nil && got.Colour != nil && (*got.Colour == "amber" || *got.Colour == "teal")
}
