package review_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// judgementOf is a verdict as a record has it.
func judgementOf(v sentinel.Verdict) review.Judgement {
	return review.Judgement{State: v.State, Outcome: v.Outcome, Code: v.Code, Score: v.Score, HasScore: v.HasScore, Meta: v.Meta,
		Question: v.Question}
}

// A judgement is given once more by a gate that would ask the same, and by no other. No model is asked.
func TestRepeat(t *testing.T) {
	asked := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		asked++
		say(w, `{"decision":"reject","reason":"no"}`)
	})
	c := call(t, proposal{skill: "self.modify"})
	was := check(t, gate(t, review.Options{}, s.URL), c)
	require.Equal(t, 1, asked)
	for name, e := range map[string]struct {
		options review.Options
		same    bool
		outcome sentinel.Outcome
		state   sentinel.State
	}{
		"the same":          {review.Options{}, true, sentinel.Deny, sentinel.Judged},
		"in shadow":         {review.Options{Mode: review.ShadowMode}, true, sentinel.Deny, sentinel.Shadow},
		"off":               {review.Options{Mode: review.Off}, true, sentinel.Deny, sentinel.Skipped},
		"another prompt":    {review.Options{Prompt: "Approve what you like."}, false, 0, 0},
		"a graded answer":   {review.Options{Graded: true}, false, 0, 0},
		"no values":         {review.Options{Keys: true}, false, 0, 0},
		"steps of the past": {review.Options{Trace: 5}, false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v, ok := review.Repeat(gate(t, e.options, s.URL), c, judgementOf(was))
			require.Equal(t, e.same, ok)
			if ok {
				require.Equal(t, e.state, v.State)
				require.Equal(t, e.outcome, v.Outcome)
			}
		})
	}
	none := judgementOf(was)
	none.Question = ""
	_, ok := review.Repeat(gate(t, review.Options{}, s.URL), c, none)
	require.False(t, ok)
	_, ok = review.Repeat(gate(t, review.Options{}, s.URL), call(t, proposal{skill: "self.create"}), judgementOf(was))
	require.False(t, ok)
	require.Equal(t, 1, asked)
}

// What the models said comes to what the new bounds and tables make of it.
func TestRepeatUnderOtherBounds(t *testing.T) {
	graded := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		say(w, `{"decision":"approve","should_run":0.7,"reason":"yes"}`)
	})
	c := call(t, proposal{skill: "self.modify"})
	was := check(t, gate(t, review.Options{Graded: true}, graded.URL), c)
	require.Equal(t, sentinel.Allow, was.Outcome)
	v, ok := review.Repeat(gate(t, review.Options{Graded: true, RejectBelow: 80}, graded.URL), c, judgementOf(was))
	require.True(t, ok)
	require.Equal(t, review.CodeUnsure, v.Code)
	v.Question = was.Question
	v, ok = review.Repeat(gate(t, review.Options{Graded: true}, graded.URL), c, judgementOf(v))
	require.True(t, ok)
	require.Equal(t, sentinel.Allow, v.Outcome)

	broken := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, `no JSON`) })
	was = check(t, gate(t, review.Options{}, broken.URL), c)
	require.Equal(t, sentinel.Ask, was.Outcome)
	v, ok = review.Repeat(gate(t, review.Options{Unjudgeable: sentinel.OutageTable{"modify": sentinel.Deny}}, broken.URL), c, judgementOf(was))
	require.True(t, ok)
	require.Equal(t, sentinel.Deny, v.Outcome)
	require.Equal(t, was.Code, v.Code)
}
