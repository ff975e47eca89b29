package doctor

import (
	"context"
	"fmt"
	"time"

	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// modelExam is the examination of one model, which runs beside those of others.
type modelExam struct {
	exam
	cut bool // it was given up
}

// examineModel asks one model: whether it is there, and then, in its server's turn, for
// all the rest.
func (e *modelExam) examineModel(ctx context.Context, d *assembly.Decider, name string, w *wire, slots, server chan struct{}) {
	defer func() { e.cut = ctx.Err() != nil }()
	slots <- struct{}{}
	e.began = time.Now()
	m, _ := d.Model(name)
	there := e.checkReach(ctx, m, w)
	<-slots
	if !there {
		return
	}
	e.checkClock("model "+name, w)
	select {
	case server <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-server }()
	e.began = time.Now()
	if e.hasWorkingRole(name) {
		e.checkTools(ctx, m)
	}
	if !inReview(d.Review(), name) {
		return
	}
	if e.checkContext(m); e.checkSchema(ctx, m) {
		e.askCanaries(ctx, d.Review(), []*llm.Client{m})
	}
}

// checkReach asks for one word.
func (e *modelExam) checkReach(ctx context.Context, m *llm.Client, w *wire) bool {
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
	message, advice := explainFailure(f, w)
	e.problem(check, message, strings.ReplaceAll(advice, "models.NAME", "models."+m.Name()))
	return false
}

// explainFailure says what a failed question means for the operator of the server.
func explainFailure(f *llm.Error, w *wire) (message, advice string) {
	if f == nil {
		return "it could not be asked", "report this"
	}
	at := ""
	if f.Status != 0 {
		at = fmt.Sprintf(" (status %d)", f.Status)
	}
	switch {
	case f.Kind == llm.KindConnect:
		return w.explainBroken()
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

func (e *modelExam) checkClock(of string, w *wire) {
	skew, known := w.clockSkew()
	e.checkSkew("clock", of, skew, known)
}

// probe is a shape that no answer has by itself.
const (
	probeName   = "doctor_probe"
	probeSchema = `{"type":"object","properties":{"colour":{"type":"string","enum":["amber","teal"]},"level":{"type":"integer"}},` +
		`"required":["colour","level"],"additionalProperties":false}`
)

// checkSchema asks for an answer in a shape that the words of the question don't
// tell: a server that ignores the schema answers otherwise.
func (e *modelExam) checkSchema(ctx context.Context, m *llm.Client) bool {
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
	case !holdsShape(way, r):
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

// holdsShape reports whether an answer is in the shape that was asked for.
func holdsShape(way string, r llm.Response) bool {
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

// hasWorkingRole reports whether a model works as an orchestrator or an agent. Both do all
// that they do by calling functions.
func (e *modelExam) hasWorkingRole(name string) bool {
	return slices.Contains(e.cfg.Roles["orchestrator"], name) || slices.Contains(e.cfg.Roles["agent"], name)
}

// checkTools asks for the call of a function. A server whose template for the model
// knows none leaves them out without a word, and the agent has no skill.
func (e *modelExam) checkTools(ctx context.Context, m *llm.Client) {
	limit := 300
	if m.Config().Reasoning {
		limit = 2000
	}
	r, err := m.Chat(ctx, llm.Request{MaxTokens: limit,
		Messages: []llm.Message{{Role: llm.RoleUser, Content: "Call the function " + probeName + " with the colour amber and the level 3."}},
		Tools:    []llm.Tool{{Name: probeName, Description: "Notes a colour and a level.", Parameters: json.RawMessage(probeSchema)}}})
	check := "tools " + m.Name()
	var f *llm.Error
	switch {
	case errors.As(err, &f) && f.Kind != llm.KindBadResponse:
		e.problem(check, "it refuses or fails a request with tools",
			"see whether the model's template knows tools and its server passes them on (llama.cpp: --jinja), "+
				"or give the roles orchestrator and agent another model")
	case err != nil || len(r.ToolCalls) == 0 || r.ToolCalls[0].Name != probeName:
		e.warn(check, "told to call a function, it called none: what calls none uses no skill",
			"see whether its server shows it tools (the model's template has to know them), or give the roles orchestrator and agent another model")
	default:
		e.ok(check, "it calls functions")
	}
}

// longQuestion is about the most tokens that a question of the review has.
const longQuestion = 10_000

// checkContext says whether it would be noticed that a model was shown half a question.
func (e *modelExam) checkContext(m *llm.Client) {
	check, size := "context "+m.Name(), m.Config().Context
	switch {
	case size == 0:
		e.warn(check, "models."+m.Name()+".context is not set: where its server cuts off what is too long, "+
			"the model judges the rest and no message says so",
			"write how many tokens it takes: the smaller one of what the server is set to and what the model was made for")
	case size < longQuestion:
		e.warn(check, fmt.Sprintf("%d tokens: a question of the review can have about %d, and what is longer is unjudgeable", size, longQuestion),
			"give it a longer context, or take another model where calls are long")
	default:
		e.ok(check, "%d tokens", size)
	}
}

// askCanaries asks the models of the review that can be asked.
func (e *modelExam) askCanaries(ctx context.Context, g *review.Gate, models []*llm.Client) {
	for _, m := range models {
		list, err := g.AskCanaries(ctx, review.CanaryOptions{Models: []string{m.Name()}})
		check := "canaries " + m.Name()
		if err != nil || len(list) != 1 {
			e.problem(check, "they could not be asked", "run it again")
			continue
		}
		r := list[0]
		switch r.Result {
		case review.CanaryPassed:
			e.ok(check, "passed: %d requests, %d tokens", r.Requests, r.TokensIn+r.TokensOut)
		case review.CanaryFailed:
			e.problem(check, "it gave the wrong verdict on "+strings.Join(r.Wrong(), ", ")+countUnjudged(r),
				"run it again; if it stays so, take another model, and measure both with vedette eval")
		default:
			e.reportTooFew(check, m, r)
		}
		e.checkPace(g, m, r)
	}
}

// countUnjudged says how many a model did not judge, beside what it got wrong.
func countUnjudged(r review.CanaryReport) string {
	n := 0
	for _, a := range r.Answers {
		if a.Failure != "" {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d of %d it did not judge (%s)", n, len(r.Answers), r.Failure())
}

// reportTooFew says why there is no verdict, and what helps against it.
func (e *modelExam) reportTooFew(check string, m *llm.Client, r review.CanaryReport) {
	switch r.Failure() {
	case review.LoneTimeout, review.Timeout:
		e.problem(check, fmt.Sprintf("it judged too few of them in time (%s): a review has %s, a request %s",
			r.Failure(), e.cfg.Sentinel.Timeout, requestTimeout(m)),
			"raise sentinel.timeout and models."+m.Name()+".timeout, or take a faster model or server")
	case review.Length:
		e.problem(check, "it judged too few of them (length): it writes more than an answer may have",
			"take a model that keeps to one line, or set models."+m.Name()+".reasoning if it thinks before it answers")
	default:
		e.problem(check, fmt.Sprintf("it judged too few of them (%s)", r.Failure()),
			"a model that can't judge these can't judge calls either: see sentinel.unjudgeable")
	}
}

// checkPace warns of a model that takes most of the time that it has: asked by two at
// once, or about a longer call, it would not answer in time.
func (e *modelExam) checkPace(g *review.Gate, m *llm.Client, r review.CanaryReport) {
	judged := 0
	for _, a := range r.Answers {
		if a.Failure == "" {
			judged++
		}
	}
	if judged == 0 {
		return
	}
	each := r.Took / time.Duration(len(r.Answers))
	// A chain divides the review's time among its models.
	has := min(e.cfg.Sentinel.Timeout/time.Duration(len(g.Models())), requestTimeout(m))
	if 2*each > has {
		e.warn("pace "+m.Name(), fmt.Sprintf("a question took it %s on average, and %s is what it has", each.Round(10*time.Millisecond), has),
			"raise sentinel.timeout and models."+m.Name()+".timeout: what is not judged in time is unjudgeable")
	}
}

func requestTimeout(m *llm.Client) time.Duration {
	if t := m.Config().Timeout; t > 0 {
		return t
	}
	return llm.DefaultTimeout
}
