package sentinel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// A mandatory gate that does not judge, and an answer that no gate can give,
// deny.
func TestAnswersThatDoNotCount(t *testing.T) {
	skip := sentinel.Verdict{State: sentinel.Skipped}
	shadow := sentinel.Verdict{State: sentinel.Shadow, Outcome: sentinel.Allow}
	for _, tc := range []struct {
		gate string
		v    sentinel.Verdict
		ok   bool
	}{
		{"schema", skip, false}, {"scope", skip, false}, {"permission", skip, false}, {"guard", skip, false},
		{"judge", skip, true}, {"review", skip, true}, {"review", shadow, true}, {"guard", shadow, false}, {"judge", shadow, false},
		{"judge", sentinel.Verdict{State: sentinel.State(99), Outcome: sentinel.Allow}, false},
		{"judge", sentinel.Verdict{State: sentinel.Judged, Outcome: sentinel.Outcome(200)}, false},
	} {
		t.Run(fmt.Sprintf("%s %d", tc.gate, tc.v.State), func(t *testing.T) {
			b := newBench(t, nil, says(tc.gate, tc.v))
			_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
			if tc.ok {
				require.NoError(t, err)
				return
			}
			require.Equal(t, tc.gate+".no_answer", refusalOf(t, err).Code)
			require.Empty(t, b.runs())
		})
	}
}

func asker(t *testing.T, whileAsked func()) func(*sentinel.Options, *bench) {
	t.Helper()
	return func(o *sentinel.Options, _ *bench) {
		o.Approver = approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
			whileAsked()
			return sentinel.Pass(), nil
		})
	}
}

// A yes to one reason is none to another, also where there are as many of them.
func TestYesHoldsForTheReasonThatWasShown(t *testing.T) {
	judge, rule := outcome(sentinel.Ask, "judge.ask"), sentinel.Pass()
	b := newBench(t, asker(t, func() { judge, rule = sentinel.Pass(), outcome(sentinel.Ask, "permission.ask") }),
		gate{"judge", func(context.Context, sentinel.Call) (sentinel.Verdict, error) { return judge, nil }},
		gate{"permission", func(context.Context, sentinel.Call) (sentinel.Verdict, error) { return rule, nil }})
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
	require.Equal(t, "approval.superseded", refusalOf(t, err).Code)
	require.Empty(t, b.runs())
}

// A rule that stops asking while a person thinks puts no denial aside: what has
// changed meanwhile does not run.
func TestNoRuleLiftsAChange(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	file := filepath.Join(root, "a.txt")
	require.NoError(t, os.WriteFile(file, []byte("shown"), 0o600))
	rule := outcome(sentinel.Ask, "permission.ask")
	b := newBenchFor(t, skills.Spec{
		Name: "test.do", Effect: skills.Read,
		Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","x-path":true}}}`),
	}, func(o *sentinel.Options, b *bench) {
		asker(t, func() {
			require.NoError(t, os.WriteFile(file, []byte("other"), 0o600))
			rule = sentinel.Pass()
		})(o, b)
		o.Env = touch.Env{Root: root}
	}, gate{"permission", func(context.Context, sentinel.Call) (sentinel.Verdict, error) { return rule, nil }})
	_, err = b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{"path":"a.txt"}`))
	require.Equal(t, "approval.changed", refusalOf(t, err).Code)
	require.Empty(t, b.runs())
	require.Equal(t, []string{"held", "decision"}, b.rec.kinds())
	require.Equal(t, "deny", b.rec.records[1].Outcome)
}

// A yes holds for what was asked: not for a call that a rule now defers, nor
// for one that another gate now asks about.
func TestYesHoldsForWhatWasAsked(t *testing.T) {
	for _, tc := range []struct {
		name string
		now  sentinel.Verdict
		kind string
		code string
	}{
		{"now deferred", outcome(sentinel.Defer, "permission.later"), skills.KindDefer, "permission.later"},
		{"now denied", outcome(sentinel.Deny, "permission.no"), skills.KindDeny, "permission.no"},
		{"another reason to ask", outcome(sentinel.Ask, "permission.ask"), skills.KindAskDenied, "approval.superseded"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			verdict := sentinel.Pass()
			b := newBench(t, asker(t, func() { verdict = tc.now }), says("judge", outcome(sentinel.Ask, "judge.ask")),
				gate{"permission", func(context.Context, sentinel.Call) (sentinel.Verdict, error) { return verdict, nil }})
			_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
			r := refusalOf(t, err)
			require.Equal(t, tc.kind, r.Kind)
			require.Equal(t, tc.code, r.Code)
			require.Empty(t, b.runs())
		})
	}
}

func reader(t *testing.T, root string, whileAsked func()) *bench {
	t.Helper()
	return newBenchFor(t, skills.Spec{
		Name: "test.do", Effect: skills.Read,
		Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","x-path":true}}}`),
	}, func(o *sentinel.Options, b *bench) {
		asker(t, whileAsked)(o, b)
		o.Env = touch.Env{Root: root}
	}, says("judge", outcome(sentinel.Ask, "judge.ask")), gate{"guard", func(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
		for _, p := range c.Touch().Paths {
			if strings.HasSuffix(p.Real, "secret") {
				return sentinel.Refuse("guard.no", "never"), nil
			}
		}
		return sentinel.Pass(), nil
	}})
}

// What was shown to a person is what is read: a link that was turned while
// they were thinking, or a file that changed, stops the call.
func TestFilesAreBoundToTheApproval(t *testing.T) {
	root := t.TempDir()
	root, err := filepath.EvalSymlinks(root)
	require.NoError(t, err)
	file, link, secret := filepath.Join(root, "a.txt"), filepath.Join(root, "link"), filepath.Join(root, "secret")
	require.NoError(t, os.WriteFile(file, []byte("shown"), 0o600))
	require.NoError(t, os.WriteFile(secret, []byte("hidden"), 0o600))
	require.NoError(t, os.Symlink(file, link))

	b := reader(t, root, func() {})
	_, err = b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{"path":"a.txt"}`))
	require.NoError(t, err, "nothing changed")

	b = reader(t, root, func() { require.NoError(t, os.WriteFile(file, []byte("other"), 0o600)) })
	_, err = b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{"path":"a.txt"}`))
	require.Equal(t, "approval.changed", refusalOf(t, err).Code)
	require.Empty(t, b.runs())

	b = reader(t, root, func() {
		require.NoError(t, os.Remove(link))
		require.NoError(t, os.Symlink(secret, link))
	})
	_, err = b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{"path":"link"}`))
	require.Equal(t, "guard.no", refusalOf(t, err).Code)
	require.Empty(t, b.runs())
}
