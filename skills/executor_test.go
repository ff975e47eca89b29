package skills_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/warrant"
)

type ran struct{ n int }

func (r *ran) run(context.Context, skills.Order) (skills.Result, error) {
	r.n++
	return skills.Result{Content: "done"}, nil
}

func pair(t testing.TB) (*warrant.Signer, *warrant.Verifier) {
	t.Helper()
	s, v, err := warrant.NewPair(warrant.Options{})
	require.NoError(t, err)
	return s, v
}

func order(s *skills.Skill, args string) skills.Order {
	return skills.Order{CallID: "c", GrantID: "g", User: "u", Conversation: "v", Skill: s.Name(), SkillDigest: s.Digest(), Args: args}
}

// An executor does nothing without a warrant for exactly this order, and a
// warrant works once.
func TestExecutorNeedsItsWarrant(t *testing.T) {
	sign, verify := pair(t)
	otherSign, _ := pair(t)
	s := compile(t, skills.Modify, `{"type":"object","additionalProperties":true}`)
	other := compile(t, skills.Read, `{"type":"object","additionalProperties":true}`)
	issue := func(by *warrant.Signer, o skills.Order) warrant.Warrant {
		w, err := by.Issue(o.Digest())
		require.NoError(t, err)
		return w
	}
	good := order(s, `{"a":1}`)
	for _, tc := range []struct {
		name string
		w    warrant.Warrant
		o    skills.Order
		want error
	}{
		{"none", warrant.Warrant{}, good, warrant.ErrInvalid},
		{"for other arguments", issue(sign, order(s, `{"a":2}`)), good, warrant.ErrWrongCall},
		{"of another process", issue(otherSign, good), good, warrant.ErrInvalid},
		{"for another version of the skill", issue(sign, order(other, `{"a":1}`)), order(other, `{"a":1}`), warrant.ErrWrongCall},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &ran{}
			_, err := skills.NewExecutor(verify, s, r.run).Execute(t.Context(), tc.w, tc.o)
			require.ErrorIs(t, err, tc.want)
			require.Zero(t, r.n, "nothing ran")
		})
	}
	r := &ran{}
	e, w := skills.NewExecutor(verify, s, r.run), issue(sign, good)
	res, err := e.Execute(t.Context(), w, good)
	require.NoError(t, err)
	require.Equal(t, "done", res.Content)
	_, err = e.Execute(t.Context(), w, good)
	require.ErrorIs(t, err, warrant.ErrSpent)
	require.Equal(t, 1, r.n)
}

// A skill that panics, ends its goroutine, hangs or returns rubbish gives a typed failure. The
// failure says whether anything may have happened.
func TestExecutorContains(t *testing.T) {
	hang := make(chan struct{})
	for _, tc := range []struct {
		name    string
		effect  skills.Effect
		run     skills.RunFunc
		code    string
		unknown bool
	}{
		{"panic of a reader", skills.Read, func(context.Context, skills.Order) (skills.Result, error) { panic("SECRET") },
			skills.FailPanic, false},
		{"panic of a writer", skills.Modify, func(context.Context, skills.Order) (skills.Result, error) { panic("SECRET") },
			skills.FailPanic, true},
		{"goexit", skills.Modify, func(context.Context, skills.Order) (skills.Result, error) {
			runtime.Goexit()
			return skills.Result{}, nil
		}, skills.FailPanic, true},
		{"hang that ignores its context", skills.Modify, func(context.Context, skills.Order) (skills.Result,
			error) {
			<-hang
			return skills.Result{}, nil
		}, skills.FailTimeout, true},
		{"slow reader", skills.Read, func(ctx context.Context, _ skills.Order) (skills.Result, error) {
			<-ctx.Done()
			return skills.Result{}, ctx.Err()
		}, skills.FailTimeout, false},
		{"plain error", skills.Modify, func(context.Context, skills.Order) (skills.Result, error) {
			return skills.Result{}, errors.New("no such task")
		}, skills.FailFailed, false},
		{"never reached the server", skills.Modify, func(ctx context.Context, _ skills.Order) (skills.Result, error) {
			<-ctx.Done()
			return skills.Result{}, skills.ErrNoEffect
		}, skills.FailTimeout, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sign, verify := pair(t)
			s, err := skills.Compile(skills.Spec{Name: "test.do", Effect: tc.effect, Timeout: 20 * time.Millisecond})
			require.NoError(t, err)
			o := order(s, `{}`)
			w, err := sign.Issue(o.Digest())
			require.NoError(t, err)
			_, err = skills.NewExecutor(verify, s, tc.run).Execute(t.Context(), w, o)
			var f *skills.Failure
			require.ErrorAs(t, err, &f)
			require.Equal(t, tc.code, f.Code)
			require.Equal(t, tc.unknown, f.Unknown)
			require.NotContains(t, err.Error(), "SECRET")
		})
	}
	close(hang)
}

// The order's deadline ends a run before the skill's own timeout does.
func TestOrderDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sign, verify := pair(t)
		s := compile(t, skills.Read, ``)
		o := order(s, `{}`)
		o.Deadline = time.Now().Add(3 * time.Second)
		w, err := sign.Issue(o.Digest())
		require.NoError(t, err)
		start := time.Now()
		_, err = skills.NewExecutor(verify, s, func(ctx context.Context, _ skills.Order) (skills.Result, error) {
			<-ctx.Done()
			return skills.Result{}, ctx.Err()
		}).Execute(t.Context(), w, o)
		require.Error(t, err)
		require.Equal(t, 3*time.Second, time.Since(start))
	})
}

// What a skill returns is bounded and is text.
func TestResultsAreBounded(t *testing.T) {
	sign, verify := pair(t)
	s := compile(t, skills.Read, ``)
	o := order(s, `{}`)
	w, err := sign.Issue(o.Digest())
	require.NoError(t, err)
	res, err := skills.NewExecutor(verify, s, func(context.Context, skills.Order) (skills.Result, error) {
		return skills.Result{Content: "\xff" + strings.Repeat("é", skills.MaxResult)}, nil
	}).Execute(t.Context(), w, o)
	require.NoError(t, err)
	require.True(t, res.Truncated)
	require.LessOrEqual(t, len(res.Content), skills.MaxResult+8)
	require.True(t, strings.HasPrefix(res.Content, "\uFFFDé"))
}

type sendIn struct {
	To   string `json:"to" jsonschema:"format=email" jsonschema_extras:"x-target=true"`
	Note string `json:"note,omitempty"`
}

// A Go function becomes a skill whose schema comes from its input, marks and all. It runs
// under a warrant.
func TestFunc(t *testing.T) {
	g, err := skills.Func(skills.Spec{Name: "mail.send", Effect: skills.Irreversible},
		func(_ context.Context, in sendIn) (map[string]string, error) {
			return map[string]string{"sent": in.To}, nil
		})
	require.NoError(t, err)
	s := g.Skill()
	require.Empty(t, s.Validate(parse(t, `{"to":"a@b.c"}`)))
	require.Len(t, s.Validate(parse(t, `{"to":"nobody","x":1}`)), 2)
	var marks skills.Annotation
	s.Walk(parse(t, `{"to":"a@b.c"}`), func(a skills.Arg) { marks = a.Marks })
	require.Equal(t, skills.Target, marks)

	sign, verify := pair(t)
	o := order(s, `{"to":"a@b.c"}`)
	w, err := sign.Issue(o.Digest())
	require.NoError(t, err)
	res, err := g.Executor(verify).Execute(t.Context(), w, o)
	require.NoError(t, err)
	require.JSONEq(t, `{"sent":"a@b.c"}`, res.Content)

	_, err = skills.Func(skills.Spec{Name: "a.b", Effect: skills.Read}, func(context.Context, string) (string, error) { return "", nil })
	require.ErrorContains(t, err, "not a struct")
	_, err = skills.Func[sendIn, string](skills.Spec{Name: "a.b", Effect: skills.Read}, nil)
	require.ErrorContains(t, err, "nil")
}

// A Go skill reads the names that were judged and no others: "TO" is not "to".
func TestFuncMatchesNamesExactly(t *testing.T) {
	var got string
	g, err := skills.Func(skills.Spec{Name: "mail.send", Effect: skills.Irreversible,
		Parameters: json.RawMessage(`{"type":"object","additionalProperties":true}`)},
		func(_ context.Context, in sendIn) (string, error) { got = in.To; return "", nil })
	require.NoError(t, err)
	sign, verify := pair(t)
	o := order(g.Skill(), `{"TO":"mallory@evil.example"}`)
	w, err := sign.Issue(o.Digest())
	require.NoError(t, err)
	_, err = g.Executor(verify).Execute(t.Context(), w, o)
	require.NoError(t, err)
	require.Empty(t, got)
}

// explosive is an error whose own method breaks.
type explosive struct{}

func (explosive) Error() string { panic("SECRET") }

// loud is an error that is longer than any record.
type loud struct{}

func (loud) Error() string { return strings.Repeat("x", 5<<20) }

// Whatever a skill returns beside its result becomes a Failure of ours: with a
// code of ours, a bounded text, and without touching what the skill holds.
func TestFailuresAreOurs(t *testing.T) {
	shared := &skills.Failure{Code: "SECRET\nline", Err: errors.New("why")}
	for _, tc := range []struct {
		name, code, text string
		err              error
	}{
		{"an unset pointer as an error", skills.FailFailed, "skill failed", (*skills.Failure)(nil)},
		{"an error that panics", skills.FailFailed, "can't be read", explosive{}},
		{"an endless error", skills.FailFailed, "xxx", loud{}},
		{"a code of the skill's own", skills.FailFailed, "why", shared},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sign, verify := pair(t)
			s := compile(t, skills.Modify, ``)
			o := order(s, `{}`)
			w, err := sign.Issue(o.Digest())
			require.NoError(t, err)
			_, err = skills.NewExecutor(verify, s, func(context.Context, skills.Order) (skills.Result, error) {
				return skills.Result{Isolation: "SECRET"}, tc.err
			}).Execute(t.Context(), w, o)
			var f *skills.Failure
			require.ErrorAs(t, err, &f)
			require.NotSame(t, shared, f)
			require.Equal(t, tc.code, f.Code)
			require.Contains(t, err.Error(), tc.text)
			require.Less(t, len(err.Error()), skills.MaxError+100)
			require.NotContains(t, err.Error(), "SECRET")
		})
	}
	require.Equal(t, "SECRET\nline", shared.Code, "the skill's own value is left alone")
}
