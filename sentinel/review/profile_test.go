package review_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// saidGate is a gate that gives a verdict of a test's choice.
type saidGate struct {
	name string
	v    sentinel.Verdict
}

func (g saidGate) Name() string { return g.name }

func (g saidGate) Check(context.Context, sentinel.Call) (sentinel.Verdict, error) { return g.v, nil }

// decideUnder is the decision on an inward read of a skill marked risk: low, with the review
// of a profile. Gates are instead of those that pass.
func decideUnder(t *testing.T, g *review.Gate, effect skills.Effect, gates ...sentinel.Gate) sentinel.Decision {
	t.Helper()
	s, err := skills.Compile(skills.Spec{Name: "low.find", Effect: effect, Reaches: skills.Self, Risk: skills.LowRisk,
		Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","x-content":true}}}`)})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(t, err)
	list := append([]sentinel.Gate{g}, gates...)
	for _, n := range []string{sentinel.GateSchema, sentinel.GateScope, sentinel.GatePermission, sentinel.GateGuard, sentinel.GateJudge} {
		named := false
		for _, own := range gates {
			named = named || own.Name() == n
		}
		if !named {
			list = append(list, passGate(n))
		}
	}
	p, err := sentinel.New(sentinel.Options{Registry: reg, Gates: list, Env: touch.Env{NoFS: true}})
	require.NoError(t, err)
	scope, err := skills.NewScope("low.*")
	require.NoError(t, err)
	request := "find the garden"
	gr, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: "g1", User: "ann", Conversation: "c1", Agent: "a1", Scope: scope, Request: &request})
	require.NoError(t, err)
	c, err := p.NewCall(sentinel.Proposal{Skill: "low.find", Args: []byte(`{"query":"garden"}`), Grant: gr})
	require.NoError(t, err)
	d, err := p.Decide(t.Context(), c)
	require.NoError(t, err)
	return d
}

// A profile leaves out what the rules have allowed without a word against it. It never
// raises what they asked or denied, and without a judge it leaves nothing out.
func TestAProfileLiftsNothing(t *testing.T) {
	const judge, rules = sentinel.GateJudge, sentinel.GatePermission
	signal := func(e sentinel.Evidence) sentinel.Verdict {
		v := sentinel.Pass()
		v.Evidence = []sentinel.Evidence{e}
		return v
	}
	ask, deny := sentinel.Hold("x.asks", "x"), sentinel.Refuse("x.denies", "x")
	raising := signal(sentinel.Evidence{Signal: "intent_mention", Amount: 10})
	lowering := signal(sentinel.Evidence{Signal: "traversal", Amount: -5})
	doubt := signal(sentinel.Evidence{Signal: "other_topic", Doubt: true})
	doubt.Doubt = &sentinel.Doubt{Outcome: sentinel.Ask, Code: "judge.doubt"}
	for name, tc := range map[string]struct {
		gate    sentinel.Gate
		outcome sentinel.Outcome
		state   sentinel.State
	}{
		"nothing is said":       {passGate(judge), sentinel.Allow, sentinel.Skipped},
		"a signal in favour":    {saidGate{judge, raising}, sentinel.Allow, sentinel.Skipped},
		"a signal against":      {saidGate{judge, lowering}, sentinel.Allow, sentinel.Judged},
		"a doubt":               {saidGate{judge, doubt}, sentinel.Ask, sentinel.Judged}, // no canaries were asked
		"the judge is off":      {sentinel.Skip(judge, "off"), sentinel.Allow, sentinel.Judged},
		"the judge asks":        {saidGate{judge, ask}, sentinel.Ask, sentinel.Judged},
		"a rule asks":           {saidGate{rules, ask}, sentinel.Ask, sentinel.Judged},
		"the scope gate asks":   {saidGate{sentinel.GateScope, ask}, sentinel.Ask, sentinel.Judged},
		"the guard asks":        {saidGate{sentinel.GateGuard, ask}, sentinel.Ask, sentinel.Judged},
		"a rule denies":         {saidGate{rules, deny}, sentinel.Deny, sentinel.NotReached},
		"the schema is not met": {saidGate{sentinel.GateSchema, deny}, sentinel.Deny, sentinel.NotReached},
	} {
		t.Run(name, func(t *testing.T) {
			srv := play(t, `rules: [{reply: {content: '`+approves+`'}}]`)
			seen := &watch{}
			g := gate(t, review.Options{Profile: review.Balanced, Observer: seen}, srv.BaseURL())
			d := decideUnder(t, g, skills.Read, tc.gate)
			v, _ := d.Verdict(sentinel.GateReview)
			require.Equal(t, tc.outcome, d.Outcome)
			require.Equal(t, tc.state, v.State)
			skipped := tc.state == sentinel.Skipped
			require.Equal(t, skipped, v.Code == review.CodeProfile)
			require.Len(t, srv.Requests(), map[bool]int{true: 1}[tc.state == sentinel.Judged])
			require.Equal(t, map[bool]uint64{true: 1}[skipped], g.State().Stats.Skipped)
			if skipped {
				require.Equal(t, review.Balanced, seen.reviews[0].Profile)
				require.Equal(t, skills.Read, seen.reviews[0].Effect)
			}
		})
	}
}

// What sentinel.modes names counts before the profile: a call that it enforces or shadows
// is asked about, and one that it switches off is not.
func TestModesCountBeforeTheProfile(t *testing.T) {
	byEffect := func(e skills.Effect, m review.Mode) review.Modes {
		return review.Modes{Effect: map[skills.Effect]review.Mode{e: m}}
	}
	bySkill := func(m review.Mode) review.Modes { return review.Modes{Skill: map[string]review.Mode{"low.find": m}} }
	for name, tc := range map[string]struct {
		mode  review.Mode
		modes review.Modes
		state sentinel.State
		code  string
	}{
		"no modes":         {"", review.Modes{}, sentinel.Skipped, review.CodeProfile},
		"a shadow review":  {review.ShadowMode, review.Modes{}, sentinel.Skipped, review.CodeProfile},
		"an effect's":      {"", byEffect(skills.Read, review.Enforce), sentinel.Judged, review.CodeRejected},
		"a skill's":        {"", bySkill(review.Enforce), sentinel.Judged, review.CodeRejected},
		"a skill's shadow": {"", bySkill(review.ShadowMode), sentinel.Shadow, review.CodeShadow},
		"another effect's": {"", byEffect(skills.Create, review.Enforce), sentinel.Skipped, review.CodeProfile},
		"off":              {"", bySkill(review.Off), sentinel.Skipped, ""},
	} {
		t.Run(name, func(t *testing.T) {
			srv := play(t, `rules: [{reply: {content: '`+rejects+`'}}]`)
			g := gate(t, review.Options{Profile: review.Thrifty, Mode: tc.mode, Modes: tc.modes}, srv.BaseURL())
			v, _ := decideUnder(t, g, skills.Read).Verdict(sentinel.GateReview)
			require.Equal(t, tc.state, v.State)
			require.Equal(t, tc.code, v.Code)
		})
	}
}

// A profile that is none is found at its place.
func TestProfilesAreChecked(t *testing.T) {
	_, err := review.New(review.Options{Mode: review.Off, Profile: "cheap"})
	require.Equal(t, []string{"sentinel.profile"}, paths(err))
	require.ErrorContains(t, err, `"cheap" is not one of strict, balanced, thrifty`)
}
