package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/eval"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

const (
	approve = `{"decision":"approve","reason":"as asked"}`
	reject  = `{"decision":"reject","reason":"not asked"}`
)

// printed is one line of a file of prompts.
type printed struct {
	Key, Case, Model, URL string
	Body                  json.RawMessage
}

func prompts(t *testing.T, b []byte) []printed {
	t.Helper()
	var out []printed
	for line := range bytes.Lines(b) {
		var p printed
		require.NoError(t, json.Unmarshal(line, &p))
		out = append(out, p)
	}
	return out
}

// offline evaluates lines with a real review whose models are stood in for. Its
// breakers open at the first failure.
func offline(t *testing.T, answers map[string]eval.Answer, out io.Writer, lines ...string) ([]eval.Result, *eval.Offline, *review.Gate) {
	t.Helper()
	off := eval.NewOffline(answers, out)
	models := map[string]llm.Config{}
	for _, name := range []string{"fast", "strong"} {
		models[name] = llm.Config{Model: name, BaseURL: "http://model.invalid/v1"}
	}
	roster, err := llm.NewRoster(llm.RosterConfig{Models: models, Roles: map[string][]string{"sentinel": {"fast", "strong"}},
		Transport: off.Transport})
	require.NoError(t, err)
	chain, err := roster.ForRole("sentinel")
	require.NoError(t, err)
	gate, err := review.New(review.Options{Models: chain, Breaker: review.Breaker{Failures: 1}})
	require.NoError(t, err)
	ev := eval.NewEvaluator(eval.Options{Decider: reviewedBy(t, gate), Offline: off})
	var got []eval.Result
	require.NoError(t, ev.Each(t.Context(), strings.NewReader(strings.Join(lines, "\n")), 1, func(_ int, r eval.Result) error {
		got = append(got, r)
		return nil
	}))
	return got, off, gate
}

func search(id, query string) string {
	return fmt.Sprintf(`{"id":%q,"kind":"benign","original_request":"Find mail","granted_skills":["email.search"],`+
		`"proposed_action":{"skill_name":"email.search","arguments":{"query":%q}}}`, id, query)
}

func read(t *testing.T, lines ...string) map[string]eval.Answer {
	t.Helper()
	a, err := eval.ReadAnswers(strings.NewReader(strings.Join(lines, "\n")))
	require.NoError(t, err)
	return a
}

func said(key, content string) string { return fmt.Sprintf(`{"key":%q,"content":%q}`, key, content) }

// A case without an answer ends there: one request is written for each, no other
// model is asked, and no breaker hears of it.
func TestUnansweredBleedsNowhere(t *testing.T) {
	var out bytes.Buffer
	got, off, gate := offline(t, nil, &out, search("1", "x"), search("2", "x"), search("3", "y"))
	ps := prompts(t, out.Bytes())
	require.Len(t, ps, 3)
	require.Equal(t, 3, off.Written())
	for i, p := range ps {
		require.True(t, got[i].Unanswered)
		require.Equal(t, got[i].Case.ID, p.Case)
		require.Equal(t, "fast", p.Model)
		require.Equal(t, "http://model.invalid/v1/chat/completions", p.URL)
		require.Equal(t, eval.Key("fast", p.Case, p.Body), p.Key)
	}
	for _, m := range gate.State().Models {
		require.Equal(t, "closed", m.Breaker, m.Model)
		require.Zero(t, m.Failures, m.Model)
		require.Empty(t, m.LastFailure, m.Model)
	}
}

// Cases of the same id that ask the same share a key, so there is one request to
// answer, and its answer is both's.
func TestSharedKeyIsWrittenOnce(t *testing.T) {
	var out bytes.Buffer
	got, _, _ := offline(t, nil, &out, search("1", "x"), search("1", "x"))
	require.True(t, got[0].Unanswered && got[1].Unanswered)
	ps := prompts(t, out.Bytes())
	require.Len(t, ps, 1)
	got, off, _ := offline(t, read(t, said(ps[0].Key, approve)), nil, search("1", "x"), search("1", "x"))
	require.Equal(t, sentinel.Allow, got[0].Decision.Outcome)
	require.Equal(t, sentinel.Allow, got[1].Decision.Outcome)
	require.Zero(t, off.Unused())
}

// What follows from an answer is written once it is there: the repair, then the
// next model; then the case is decided, and each answer was used.
func TestAnswersLeadOn(t *testing.T) {
	line := search("1", "x")
	var lines []string
	for _, step := range []struct{ model, answer string }{{"fast", "no JSON"}, {"fast", "still none"}, {"strong", reject}} {
		var out bytes.Buffer
		got, _, _ := offline(t, read(t, lines...), &out, line)
		require.True(t, got[0].Unanswered)
		ps := prompts(t, out.Bytes())
		require.Len(t, ps, 1)
		require.Equal(t, step.model, ps[0].Model)
		lines = append(lines, said(ps[0].Key, step.answer))
	}
	lines = append(lines, said("of-nothing", approve))
	got, off, _ := offline(t, read(t, lines...), nil, line)
	require.False(t, got[0].Unanswered)
	require.Equal(t, sentinel.Deny, got[0].Decision.Outcome)
	require.Equal(t, "review.rejected", got[0].Decision.Code)
	require.Equal(t, 1, off.Unused())
}

// A whole completion is read as one from a server, with its usage and its
// faults.
func TestAnswersAreWholeCompletions(t *testing.T) {
	var out bytes.Buffer
	offline(t, nil, &out, search("1", "x"), search("2", "y"))
	ps := prompts(t, out.Bytes())
	got, _, _ := offline(t, read(t,
		`{"key":"`+ps[0].Key+
			`","note":1,"body":{"choices":[{"index":0,"message":{"role":"assistant","content":"{\"decision\":\"approve\",\"reason\":\"\"}"},`+
			`"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}}`,
		`{"key":"`+ps[1].Key+`","body":{"choices":[]}}`,
	), nil, search("1", "x"), search("2", "y"))
	require.Equal(t, sentinel.Allow, got[0].Decision.Outcome)
	var tally eval.Tally
	tally.Add(got[0])
	require.EqualValues(t, 7, tally.Report().Review.TokensIn)
	require.EqualValues(t, 3, tally.Report().Review.TokensOut)
	require.True(t, got[1].Unanswered, "no choices: the repair is asked next")
}

// The key is the same however the body is written, and another for another
// model, case or question.
func TestKey(t *testing.T) {
	base := eval.Key("fast", "1", []byte(`{"a":1,"b":[true]}`))
	require.Equal(t, base, eval.Key("fast", "1", []byte(`{"b":[true], "a":1.0}`)))
	for _, other := range []string{
		eval.Key("strong", "1", []byte(`{"a":1,"b":[true]}`)), eval.Key("fast", "2", []byte(`{"a":1,"b":[true]}`)),
		eval.Key("fast", "1", []byte(`{"a":2,"b":[true]}`)), eval.Key("fast1", "", []byte(`{"a":1,"b":[true]}`)),
		eval.Key("fast", "1", []byte(`{`)),
	} {
		require.NotEqual(t, base, other)
	}
}

// A request that belongs to no case, such as a probe, is neither written nor
// answered; one that follows a missing answer in its case is not written.
func TestTransportKnowsItsCase(t *testing.T) {
	var out bytes.Buffer
	off := eval.NewOffline(nil, &out)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://model.invalid", strings.NewReader("{}"))
	require.NoError(t, err)
	_, err = off.Transport("fast").RoundTrip(req)
	require.ErrorContains(t, err, "no case")

	off = eval.NewOffline(read(t, said(eval.Key("fast", "1", []byte(`{"n":2}`)), approve)), &out)
	stubborn := deciderFunc(func(ctx context.Context) error {
		ctx = context.WithoutCancel(ctx) // as who judges for several callers at once
		for _, body := range []string{`{"n":1}`, `{"n":2}`} {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://model.invalid", strings.NewReader(body))
			if err != nil {
				return err
			}
			if _, err = off.Transport("fast").RoundTrip(req); err == nil {
				return errors.New("answered")
			}
		}
		return nil
	})
	r := evaluate(t, eval.NewEvaluator(eval.Options{Decider: stubborn, Offline: off}), search("1", "x"))
	require.True(t, r.Unanswered)
	require.Len(t, prompts(t, out.Bytes()), 1)
	require.JSONEq(t, `{"n":1}`, string(prompts(t, out.Bytes())[0].Body))
	require.Equal(t, 1, off.Unused(), "what follows a missing answer is not answered either")
}

// A file that can't be written to is told, not passed over.
func TestPromptsThatCantBeWritten(t *testing.T) {
	_, off, _ := offline(t, nil, full{}, search("1", "x"))
	require.ErrorContains(t, off.Err(), "disk full")
	require.Zero(t, off.Written())
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// deciderFunc allows after what it does.
type deciderFunc func(ctx context.Context) error

func (deciderFunc) NewCall(sentinel.Proposal) (sentinel.Call, error) { return sentinel.Call{}, nil }

func (f deciderFunc) Decide(ctx context.Context, _ sentinel.Call) (sentinel.Decision, error) {
	if err := f(ctx); err != nil {
		return sentinel.Decision{}, err
	}
	return sentinel.Decision{Outcome: sentinel.Allow}, nil
}

// What was decided behind a line that hadn't been is handed out when the caller
// gives up: it was paid for.
func TestEachHandsOutWhatWasDecided(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := make(chan struct{}, 1)
	first <- struct{}{}
	others := make(chan struct{}, 3)
	slow := deciderFunc(func(ctx context.Context) error {
		select {
		case <-first: // the first case waits until the others are done, and for ever
			for range 3 {
				<-others
			}
			cancel()
			<-ctx.Done()
			return ctx.Err()
		default:
			others <- struct{}{}
			return nil
		}
	})
	var got []string
	in := strings.NewReader(search("1", "x") + "\n" + search("2", "x") + "\n" + search("3", "x") + "\n" + search("4", "x") + "\n")
	err := eval.NewEvaluator(eval.Options{Decider: slow}).Each(ctx, in, 2, func(_ int, r eval.Result) error {
		got = append(got, r.Case.ID)
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, got, 3, "all but the one that waited")
	require.IsIncreasing(t, got)
}

// Errors of answers name the line and no value.
func TestReadAnswersRefuses(t *testing.T) {
	good := said("a", "x") + "\n"
	for in, want := range map[string]string{
		good + `{"key":"b"}`:                                 "line 2: must hold either body",
		good + `{"key":"b","body":{},"content":"CANARY"}`:    "line 2: must hold either body",
		good + `{"key":"b","body":null}`:                     "line 2: must hold either body",
		good + `{"content":"CANARY"}`:                        "line 2: key is missing",
		good + `{"key":7,"content":"CANARY"}`:                "line 2: key must be a string",
		good + `{"key":"b","content":["CANARY"]}`:            "line 2: content must be a string",
		good + `{"key":"b","body":"CANARY"}`:                 "line 2: body must be a chat completion",
		good + `{"key":"b","Content":"CANARY"}`:              `line 2: the line has the unknown key "Content"`,
		good + `{"key":"b","content":"CANARY`:                "line 2: the line is not valid JSON",
		good + "\n" + good:                                   "line 2: the line is not one JSON object",
		good + good:                                          "line 2: the key of line 1 again",
		good + `["CANARY"]`:                                  "line 2: the line must be one JSON object",
		good + `{"key":"b","key":"c","content":"CANARY"}`:    "line 2: the line has the key key twice",
		good + strings.Repeat("x", cases.MaxLine+1) + "\n{}": "line 2: longer than",
	} {
		_, err := eval.ReadAnswers(strings.NewReader(in))
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "CANARY")
	}
}

// Whatever stands in a file of answers, reading it ends, and what is read is used
// as it is.
func FuzzReadAnswers(f *testing.F) {
	f.Add(`{"key":"a","content":"x"}`)
	f.Add(`{"key":"a","body":{"choices":[]}}` + "\n\n")
	f.Add("\x00{")
	f.Fuzz(func(t *testing.T, in string) {
		a, err := eval.ReadAnswers(strings.NewReader(in))
		if err == nil {
			require.LessOrEqual(t, len(a), strings.Count(in, "\n")+1)
		} else {
			require.Regexp(t, `^line \d+: `, err.Error())
		}
	})
}
