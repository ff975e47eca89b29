package assembly_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	purge "github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/orchestrator/records/query"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/judge"
	"github.com/vedette-dev/vedette/skills"
)

// tenant is a house where people are asked about payments, on days that a test chooses.
type tenant struct {
	*assembly.Parts
	t     *testing.T
	file  string
	clock *hands
	begin time.Time
	yes   bool
	asked int
	calls int
}

// pay is one payment: on which day after the begin, whose, and what of it differs.
type pay struct {
	day                      float64
	user, skill, to, request string
	amount                   float64
	tainted, refused         bool
	more                     string // arguments
}

// landlord is whom the payments of these tests go to.
const landlord = "canary-7f3a@rent.test"

// Approve answers as the test wants.
func (p *tenant) Approve(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
	p.asked++
	v := sentinel.Verdict{Gate: sentinel.GateApproval, State: sentinel.Judged, Meta: map[string]string{"by": "ann", "via": "test"}}
	if p.yes {
		v.Outcome = sentinel.Allow
	}
	return v, nil
}

func newTenant(t *testing.T, settings string) *tenant {
	t.Helper()
	p := &tenant{t: t, file: write(t, settings), clock: newHands()}
	p.begin = p.clock.now()
	p.open()
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func (p *tenant) open() {
	p.t.Helper()
	var natives []assembly.Native
	for name, effect := range map[string]skills.Effect{"bank.pay": skills.CostsMoney, "bank.give": skills.CostsMoney} {
		natives = append(natives, assembly.Native{
			Spec: skills.Spec{Name: name, Description: "Pay money to somebody.", Effect: effect, Reaches: skills.Others, Output: skills.Trusted,
				Run: skills.Run{Kind: "native"}, Parameters: json.RawMessage(`{"type":"object","required":["to","amount"],"properties":{
				"to":{"type":"string","x-target":true},"amount":{"type":"number"},"note":{"type":"string","x-content":true},
				"express":{"type":"boolean"},"currency":{"type":"string"},"tip":{"type":"number"}}}`)},
			Run: func(context.Context, skills.Order) (skills.Result, error) { return skills.Result{Content: "paid"}, nil },
		})
	}
	cfg, err := config.Load(p.file, config.Options{KnownSkills: []string{"bank.pay", "bank.give"}})
	require.NoError(p.t, err)
	p.Parts, err = assembly.Build(p.t.Context(), cfg, assembly.Options{Natives: natives, Approver: p, Now: p.clock.now})
	require.NoError(p.t, err)
}

// restart ends the process and starts another.
func (p *tenant) restart() {
	p.t.Helper()
	require.NoError(p.t, p.Close())
	p.open()
}

// proposal is the payment as an agent proposes it, at its time.
func (p *tenant) proposal(x pay) sentinel.Proposal {
	p.t.Helper()
	p.calls++
	at := p.begin.Add(time.Duration(x.day * 24 * float64(time.Hour)))
	p.clock.move(at.Sub(p.clock.now()))
	or := func(s, other string) string {
		if s == "" {
			return other
		}
		return s
	}
	sc, err := skills.NewScope("bank.*")
	require.NoError(p.t, err)
	to := or(x.to, landlord)
	request := or(x.request, "tell me of the payment of the month to "+to)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: fmt.Sprint("g", p.calls), User: or(x.user, "ann"), Conversation: "c1", Turn: fmt.Sprint("t", p.calls), Agent: "a1",
		MissionBy: sentinel.ByOrchestrator, Request: &request, Scope: sc, Tainted: x.tainted,
	})
	require.NoError(p.t, err)
	args := fmt.Sprintf(`{"to":%q,"amount":%v%s}`, to, x.amount, x.more)
	return sentinel.Proposal{Skill: or(x.skill, "bank.pay"), Args: []byte(args), Grant: g}
}

// isAsked reports whether a person is asked about the payment, and answers.
func (p *tenant) isAsked(x pay) bool {
	p.t.Helper()
	prop, before := p.proposal(x), p.asked
	p.yes = !x.refused
	_, err := p.Checkpoint.Desk(prop.Grant).Invoke(p.t.Context(), prop.Skill, prop.Args)
	if x.refused {
		require.Error(p.t, err)
	} else {
		require.NoError(p.t, err)
	}
	return p.asked > before
}

func (p *tenant) approve(list ...pay) {
	p.t.Helper()
	for _, x := range list {
		require.True(p.t, p.isAsked(x), "%+v", x)
	}
}

// rows counts the approvals that are kept.
func (p *tenant) rows() (n int) {
	p.t.Helper()
	require.NoError(p.t, p.Store.Reader().QueryRow(p.t.Context(), "SELECT count(*) FROM journal_values WHERE kind = 'habit'").Scan(&n))
	return n
}

const habitsOn = "judge: {habits: on}\n"

// Three approvals on three days make a habit, and what differs from it in anything is none.
func TestHabits(t *testing.T) {
	usual := []pay{{day: 0, amount: 900}, {day: 30, amount: 950}, {day: 60, amount: 900}}
	each := func(change func(*pay)) []pay {
		list := append([]pay(nil), usual...)
		for i := range list {
			change(&list[i])
		}
		return list
	}
	now := pay{day: 61, amount: 900}
	for name, tc := range map[string]struct {
		before []pay
		now    pay
		asked  bool
	}{
		"a habit":                  {usual, now, false},
		"up to the largest amount": {usual, pay{day: 61, amount: 950}, false},
		"a little more than that":  {usual, pay{day: 61, amount: 950.01}, true},
		"less than nothing":        {usual, pay{day: 61, amount: -900}, true},
		"other words beside it": {each(func(x *pay) { x.more = `,"note":"rent"` }),
			pay{day: 61, amount: 900, more: `,"note":"the rent of may"`}, false},
		"two approvals":           {usual[:2], now, true},
		"none":                    {nil, now, true},
		"three refusals":          {each(func(x *pay) { x.refused = true }), now, true},
		"three tainted approvals": {each(func(x *pay) { x.tainted = true }), now, true},
		"one of them tainted":     {[]pay{usual[0], usual[1], {day: 60, amount: 900, tainted: true}}, now, true},
		"in a tainted call":       {usual, pay{day: 61, amount: 900, tainted: true}, true},
		"three on one day": {[]pay{{day: 0, amount: 900}, {day: 0.001, amount: 901}, {day: 0.002, amount: 902}},
			pay{day: 1, amount: 900}, true},
		"the last of 90 days":       {usual, pay{day: 89.9, amount: 900}, false},
		"91 days after the first":   {usual, pay{day: 91, amount: 900}, true},
		"another user's":            {each(func(x *pay) { x.user = "bob" }), now, true},
		"another skill":             {each(func(x *pay) { x.skill = "bank.give" }), now, true},
		"another recipient":         {each(func(x *pay) { x.to = "eve@rent.test" }), now, true},
		"the recipient in capitals": {usual, pay{day: 61, amount: 900, to: "Canary-7f3a@rent.test"}, true},
		"a look-alike recipient":    {usual, pay{day: 61, amount: 900, to: "c\u0430nary-7f3a@rent.test"}, true},
		"a recipient and a blank":   {usual, pay{day: 61, amount: 900, to: landlord + " "}, true},
		"a switch besides":          {usual, pay{day: 61, amount: 900, more: `,"express":true`}, true},
		"a switch turned": {each(func(x *pay) { x.more = `,"express":false` }),
			pay{day: 61, amount: 900, more: `,"express":true`}, true},
		"another currency": {each(func(x *pay) { x.more = `,"currency":"JPY"` }),
			pay{day: 61, amount: 900, more: `,"currency":"EUR"`}, true},
		"a number besides": {usual, pay{day: 61, amount: 900, more: `,"tip":900`}, true},
		"a hard signal":    {usual, pay{day: 61, amount: 900, request: "the payment of eve@evil.test"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each has a tenant of its own
			p := newTenant(t, habitsOn)
			p.approve(tc.before...)
			require.Equal(t, tc.asked, p.isAsked(tc.now))
		})
	}
}

// A trial payment of 1 builds no habit for 5,000, however often it was approved.
func TestATrialPaymentBuildsNoHabitForMore(t *testing.T) {
	p := newTenant(t, habitsOn)
	p.approve(pay{day: 0, amount: 1}, pay{day: 1, amount: 1}, pay{day: 2, amount: 1})
	require.True(t, p.isAsked(pay{day: 3, amount: 5000, refused: true}), "a trial payment of 1 builds a habit for 5,000")
	require.False(t, p.isAsked(pay{day: 3, amount: 1}))
	require.True(t, p.isAsked(pay{day: 3, amount: 5000}), "no refusal counts")
}

// Habits outlive the process, and a purge of their user's values ends them.
func TestHabitsArePurged(t *testing.T) {
	p := newTenant(t, habitsOn)
	p.approve(pay{day: 0, amount: 900}, pay{day: 1, amount: 900}, pay{day: 2, amount: 900})
	require.Equal(t, 3, p.rows())
	p.restart()
	require.False(t, p.isAsked(pay{day: 3, amount: 900}), "over a restart")
	require.NoError(t, p.Close())
	for _, user := range []string{"bob", "ann"} {
		src := purge.Source{Database: p.Config.Ledger.Path, Driver: p.Config.Ledger.Driver, Keys: p.Config.Keys.Dir}
		_, err := src.Purge(t.Context(), purge.PurgeOptions{User: user, By: "an operator"})
		require.NoError(t, err)
	}
	p.open()
	require.Zero(t, p.rows())
	require.True(t, p.isAsked(pay{day: 3.1, amount: 900}), "after the purge")
}

// An operator sees which approvals are kept, and revokes them: people are asked again. The
// ledger has who did it, and no name of a recipient.
func TestHabitsAreListedAndRevoked(t *testing.T) {
	p := newTenant(t, habitsOn)
	p.begin = p.begin.AddDate(0, 0, -10) // the command's clock is the system's
	p.approve(pay{day: 0, amount: 900}, pay{day: 1, amount: 950}, pay{day: 2, amount: 900}, pay{day: 2, user: "bob", amount: 5})
	require.False(t, p.isAsked(pay{day: 3, amount: 900}))
	src := purge.Source{Database: p.Config.Ledger.Path, Driver: p.Config.Ledger.Driver, Keys: p.Config.Keys.Dir}
	_, err := src.Habits(t.Context(), "")
	require.ErrorContains(t, err, "in use")
	require.NoError(t, p.Close())

	all, err := src.Habits(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, all, 2)
	list, err := src.Habits(t.Context(), "ann")
	require.NoError(t, err)
	require.Equal(t, all[:1], list)
	h := list[0]
	require.Equal(t, []any{"ann", "bank.pay", []string{landlord}, 3, 3}, []any{h.User, h.Skill, h.To, h.Approvals, h.Days})
	require.Equal(t, map[string]float64{"/amount": 950}, h.AtMost)
	require.InDelta(t, 48*time.Hour, h.Last.Sub(h.First), float64(time.Minute))

	for _, id := range []string{"x", ""} {
		_, err = src.RevokeHabits(t.Context(), purge.RevokeOptions{User: "eve", ID: id, By: "an operator"})
		require.Equal(t, id == "", err == nil, "of no user nothing is revoked")
	}
	gone, err := src.RevokeHabits(t.Context(), purge.RevokeOptions{ID: h.ID[:6], By: "an operator"})
	require.NoError(t, err)
	require.Equal(t, purge.Revoked{Habits: 1, Approvals: 3}, gone)
	left, err := src.Habits(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, all[1:], left)
	var bodies []string
	revoked, err := query.Parse("kind:habits_revoked", time.Now())
	require.NoError(t, err)
	_, _, err = src.List(t.Context(), purge.ListOptions{Query: revoked, Limit: 9}, func(page purge.Page) error {
		for _, r := range page {
			require.Equal(t, "ann", r.User)
			bodies = append(bodies, string(r.Body))
		}
		return nil
	})
	require.NoError(t, err)
	require.Len(t, bodies, 1)
	require.JSONEq(t, fmt.Sprintf(`{"v":1,"by":"an operator","habit":%q,"approvals":3}`, h.Ref()), bodies[0])
	p.open()
	require.True(t, p.isAsked(pay{day: 3.1, amount: 900}), "after it was revoked")
	requireNowhere(t, filepath.Dir(p.file), "skills.yaml")
}

// Without judge.habits nothing is kept, and what was kept before means nothing.
func TestHabitsAreOffByDefault(t *testing.T) {
	p := newTenant(t, "")
	p.approve(pay{day: 0, amount: 900}, pay{day: 1, amount: 900}, pay{day: 2, amount: 900}, pay{day: 3, amount: 900})
	require.Zero(t, p.rows())
}

// A decision alone, as check and eval make it, leaves no habit. Nor does an approval while
// the review is in shadow.
func TestOnlyApprovalsBuildHabits(t *testing.T) {
	p := newTenant(t, habitsOn)
	for day := range 4 {
		prop := p.proposal(pay{day: float64(day), amount: 900})
		c, err := p.Checkpoint.NewCall(prop)
		require.NoError(t, err)
		d, err := p.Checkpoint.Decide(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, sentinel.Ask, d.Outcome)
	}
	require.Zero(t, p.rows())

	srv := serve(t, `rules: [{reply: {content: '{"decision":"approve","reason":"x"}'}}]`)
	shadow := newTenant(t, habitsOn+"models: {a: {model: m, base_url: \""+srv.BaseURL()+"\"}}\nroles: {sentinel: a}\n"+
		"sentinel: {mode: shadow, canaries: {every: 0s}}\n")
	shadow.approve(pay{day: 0, amount: 900}, pay{day: 1, amount: 900}, pay{day: 2, amount: 900}, pay{day: 3, amount: 900})
	require.Zero(t, shadow.rows())
}

// The record says that a habit made up for the doubts, and what is kept says nobody's name.
func TestHabitsOnRecord(t *testing.T) {
	p := newTenant(t, habitsOn)
	p.approve(pay{day: 0, amount: 900}, pay{day: 1, amount: 900}, pay{day: 2, amount: 900})
	c, err := p.Checkpoint.NewCall(p.proposal(pay{day: 3, amount: 900}))
	require.NoError(t, err)
	d, err := p.Checkpoint.Decide(t.Context(), c)
	require.NoError(t, err)
	v, _ := d.Verdict(sentinel.GateJudge)
	taken, habit := 0, 0
	for _, e := range v.Evidence {
		if e.Doubt {
			taken += e.Amount
		}
		if e.Signal == judge.SignalHabit {
			habit = e.Amount
		}
	}
	require.Positive(t, habit)
	require.Equal(t, 0, taken+habit, "what the doubts took, and no more")
	require.NotNil(t, v.Doubt)
	require.Equal(t, sentinel.DoubtCounted, v.Doubt.State)
	requireNowhere(t, filepath.Dir(p.file), "skills.yaml")
}
