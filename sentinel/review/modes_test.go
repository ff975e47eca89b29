package review_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

// A skill's own mode counts before its effect's, and that before the review's. A call that
// no model is asked about says which key it was.
func TestModes(t *testing.T) {
	o := review.Options{Modes: review.Modes{
		Effect: map[skills.Effect]review.Mode{skills.Read: review.Off, skills.Create: review.ShadowMode},
		Skill:  map[string]review.Mode{"others.read": review.Enforce, "self.create": review.Off, "self.modify": review.ShadowMode},
	}}
	for skill, want := range map[string]struct {
		state  sentinel.State
		reason string
	}{
		"self.read":         {sentinel.Skipped, "sentinel.modes.effect.read is off"},
		"others.read":       {sentinel.Judged, "the sentinel rejected the call"},
		"self.create":       {sentinel.Skipped, "sentinel.modes.skill.self.create is off"},
		"others.create":     {sentinel.Shadow, "not applied: would deny"},
		"self.modify":       {sentinel.Shadow, "not applied: would deny"},
		"others.modify":     {sentinel.Judged, "the sentinel rejected the call"},
		"self.irreversible": {sentinel.Judged, "the sentinel rejected the call"},
	} {
		srv := play(t, `rules: [{reply: {content: '`+rejects+`'}}]`)
		v := check(t, gate(t, o, srv.BaseURL()), call(t, proposal{skill: skill}))
		require.Equal(t, want.state, v.State, skill)
		require.Equal(t, want.reason, v.Reason, skill)
		require.Equal(t, want.state != sentinel.Skipped, len(srv.Requests()) == 1, skill)
	}
}

// A review that is off but for some calls asks about those alone.
func TestModesOfAReviewThatIsOff(t *testing.T) {
	srv := play(t, `rules: [{reply: {content: '`+rejects+`'}}]`)
	g := gate(t, review.Options{Mode: review.Off, Modes: review.Modes{Skill: map[string]review.Mode{"self.modify": review.Enforce}}},
		srv.BaseURL())
	v := check(t, g, call(t, proposal{skill: "others.modify"}))
	require.Equal(t, sentinel.Skipped, v.State)
	require.Equal(t, "sentinel.mode is off", v.Reason)
	require.Equal(t, sentinel.Deny, check(t, g, call(t, proposal{skill: "self.modify"})).Outcome)
	require.Len(t, srv.Requests(), 1)
}

// Modes that are none, and bounds out of range, are found at their place. Who asks about some
// calls needs a model.
func TestModesAreChecked(t *testing.T) {
	m := client(t, llm.Config{BaseURL: "http://127.0.0.1:1/v1"})
	_, err := review.New(review.Options{
		Models: []*llm.Client{m}, RejectBelow: 101, Trace: 21,
		Modes: review.Modes{
			Effect: map[skills.Effect]review.Mode{"write": review.Off, skills.Read: "of"},
			Skill:  map[string]review.Mode{"email.send": ""},
		},
	})
	require.ElementsMatch(t, []string{"sentinel.reject_below", "sentinel.trace", "sentinel.modes.effect.write", "sentinel.modes.effect.read",
		"sentinel.modes.skill.email.send"}, paths(err))
	_, err = review.New(review.Options{Trace: -1, Mode: review.Off})
	require.Equal(t, []string{"sentinel.trace"}, paths(err))
	some := review.Modes{Effect: map[skills.Effect]review.Mode{skills.Read: review.ShadowMode}}
	_, err = review.New(review.Options{Mode: review.Off, Modes: some})
	require.Equal(t, []string{"roles.sentinel"}, paths(err))
	none := review.Modes{Effect: map[skills.Effect]review.Mode{skills.Read: review.Off}}
	_, err = review.New(review.Options{Mode: review.Off, Modes: none})
	require.NoError(t, err)
}
