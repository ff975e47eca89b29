package review_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// What was judged ahead for one grant, conversation or user is for no other. The model would
// be asked the very same there.
func TestAheadIsForItsOwner(t *testing.T) {
	owner := sentinel.GrantOptions{ID: "g1", Conversation: "c1", User: "u1"}
	for name, change := range map[string]func(*sentinel.GrantOptions){
		"grant": func(o *sentinel.GrantOptions) { o.ID = "g2" },
		"talk":  func(o *sentinel.GrantOptions) { o.Conversation = "c2" },
		"user":  func(o *sentinel.GrantOptions) { o.User = "u2" },
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
			g := gate(t, review.Options{}, s.URL)
			g.Prejudge(t.Context(), call(t, proposal{skill: "self.irreversible", grant: owner}))
			stranger := owner
			change(&stranger)
			require.Empty(t, check(t, g, call(t, proposal{skill: "self.irreversible", grant: stranger})).Meta["from"])
			reqs := s.requests()
			require.Len(t, reqs, 2)
			require.Equal(t, string(reqs[0]), string(reqs[1]), "the question is the same")
			require.Equal(t, "ahead", check(t, g, call(t, proposal{skill: "self.irreversible", grant: owner})).Meta["from"])
		})
	}
}

// Nothing is asked ahead that is known already, or that no model would be asked.
func TestForeseeAsksOnlyWhatCheckWould(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	g := gate(t, keeping(nil), s.URL)
	known := call(t, proposal{skill: "self.read"})
	check(t, g, known)
	g.Prejudge(t.Context(), known)
	require.Len(t, s.requests(), 1, "it is kept")
	long := call(t, proposal{skill: "self.modify", args: `{"note":"` + strings.Repeat("x", 8<<10+1) + `"}`})
	g.Prejudge(t.Context(), long)
	require.Len(t, s.requests(), 1, "it is too long to be asked about")
	require.Equal(t, "too_long", check(t, g, long).Meta["failure"])
}

// Rates and prices below nothing are refused, each.
func TestTermsAreChecked(t *testing.T) {
	for _, terms := range []review.Terms{{RequestsPerMinute: -1}, {Price: review.Price{Input: -1}}, {Price: review.Price{Output: -1}}} {
		_, err := review.New(review.Options{Models: []*llm.Client{client(t, llm.Config{BaseURL: "http://127.0.0.1:1/v1"})},
			Terms: map[string]review.Terms{"fast": terms}})
		require.ErrorContains(t, err, "models.fast: has a negative rate or price", "%+v", terms)
	}
}

// A model is told of the answer's shape in words that fit its schema.
func TestWordsFitTheSchema(t *testing.T) {
	for part, o := range map[string]review.Options{
		"": {}, "-reasoning": {Reasoning: true}, "-graded": {Graded: true}, "-graded-reasoning": {Graded: true, Reasoning: true},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
		check(t, gate(t, o, s.URL), call(t, proposal{skill: "self.read"}))
		system := decode(t, s.requests()[0]).Messages[0].Content
		require.Equal(t, prompt(t, "")+"\n\n"+prompt(t, "-evidence")+"\n\n"+prompt(t, "-answer"+part)+" "+prompt(t, "-json"), system)
		require.Contains(t, string(s.requests()[0]), schemaOf(t, part))
	}
}
