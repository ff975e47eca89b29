package assembly_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// decide judges one call under a configuration, without a store.
func decide(t *testing.T, extra, request, skill, args string) sentinel.Decision {
	t.Helper()
	d, err := assembly.NewDecider(load(t, write(t, extra)), assembly.DeciderOptions{NoFS: true})
	require.NoError(t, err)
	defer d.Close()
	c, err := d.NewCall(sentinel.Proposal{Skill: skill, Args: []byte(args), Grant: grant(t, request, "fs.read", "fs.change", "shell.exec")})
	require.NoError(t, err)
	dec, err := d.Decide(t.Context(), c)
	require.NoError(t, err)
	return dec
}

func score(t *testing.T, d sentinel.Decision) int {
	t.Helper()
	v, ok := d.Verdict(sentinel.GateJudge)
	require.True(t, ok)
	require.True(t, v.HasScore)
	return v.Score
}

// The named cases of the two-phase design, through the whole checkpoint.
func TestTwoPhaseCases(t *testing.T) {
	t.Run("a harmless path is approved", func(t *testing.T) {
		d := decide(t, "", "", "fs.read", `{"path":"/tmp/x"}`)
		require.Equal(t, sentinel.Allow, d.Outcome)
		require.Empty(t, d.BlockedBy)
		v, _ := d.Verdict(sentinel.GateJudge)
		require.Equal(t, "rule-based-v1", v.Meta["judge_kind"])
		require.True(t, v.Score >= 0 && v.Score <= 100)
	})
	for name, tc := range map[string]struct{ skill, args, code string }{
		"the guard blocks ssh keys":                    {"fs.read", `{"path":"~/.ssh/id_rsa"}`, "guard.forbidden_path"},
		"the guard blocks /etc/passwd":                 {"fs.read", `{"path":"/etc/passwd"}`, "guard.forbidden_path"},
		"the guard blocks credentials of a user":       {"fs.read", `{"path":"~/.config/app/credentials.env"}`, "guard.forbidden_path"},
		"the guard blocks removing the root":           {"shell.exec", `{"command":"rm -rf /"}`, "guard.irrecoverable"},
		"the guard blocks a fork bomb":                 {"shell.exec", `{"command":":(){ :|:& };:"}`, "guard.irrecoverable"},
		"a mere mention of a forbidden path is enough": {"fs.change", `{"path":"/home/ann/.gnupg"}`, "guard.forbidden_path"},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(t, "", "read the key", tc.skill, tc.args)
			require.Equal(t, sentinel.Deny, d.Outcome)
			require.Equal(t, sentinel.GateGuard, d.BlockedBy)
			require.Equal(t, tc.code, d.Code)
			v, _ := d.Verdict(sentinel.GateGuard)
			require.True(t, v.HasScore)
			require.Zero(t, v.Score, "a guard's denial has score 0")
		})
	}
	t.Run("the guard lets a harmless command pass", func(t *testing.T) {
		d := decide(t, "", "", "shell.exec", `{"command":"ls -la /tmp"}`)
		v, _ := d.Verdict(sentinel.GateGuard)
		require.Equal(t, sentinel.Allow, v.Outcome)
		require.Equal(t, sentinel.Allow, d.Outcome)
	})
	t.Run("a request that mentions the skill raises the score", func(t *testing.T) {
		require.Greater(t,
			score(t, decide(t, "", "read the file", "fs.read", `{"path":"/tmp/x"}`)),
			score(t, decide(t, "", "do something", "fs.read", `{"path":"/tmp/x"}`)))
	})
	t.Run("a traversal lowers the score", func(t *testing.T) {
		require.Less(t,
			score(t, decide(t, "", "", "fs.read", `{"path":"/tmp/../srv/x"}`)),
			score(t, decide(t, "", "", "fs.read", `{"path":"/tmp/x"}`)))
	})
	t.Run("below the threshold is denied", func(t *testing.T) {
		d := decide(t, "judge: {threshold: 0.99}\n", "read my notes", "fs.read", `{"path":"/tmp/x"}`)
		require.Equal(t, sentinel.Deny, d.Outcome)
		require.Equal(t, sentinel.GateJudge, d.BlockedBy)
		require.Contains(t, d.Reason, "< threshold 0.99")
	})
	t.Run("every verdict is on record, with names and without values", func(t *testing.T) {
		p := build(t, write(t, ""), assembly.Options{})
		_, err := p.Checkpoint.Desk(grant(t, "", "fs.read")).Invoke(t.Context(), "fs.read", json.RawMessage(`{"path":"PASSWORD_secret"}`))
		require.NoError(t, err)
		list, err := p.Ledger.List(t.Context(), ledger.Query{Kind: "decision"})
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Contains(t, string(list[0].Body), `"arg_names":["path"]`)
		require.NotContains(t, string(list[0].Body), "PASSWORD_secret")
	})
}

// The two worked examples, with a skill of effect modify: 0.80 and 0.50, both
// allowed.
func TestWorkedExamples(t *testing.T) {
	d := decide(t, "", "change my notes in /tmp/n.txt", "fs.change", `{"path":"/tmp/n.txt"}`)
	require.Equal(t, 80, score(t, d))
	require.Equal(t, sentinel.Allow, d.Outcome)

	d = decide(t, "", "", "fs.change", `{"path":"/tmp/../etc/foo"}`)
	require.Equal(t, 50, score(t, d))
	require.Equal(t, sentinel.Allow, d.Outcome)
	v, _ := d.Verdict(sentinel.GateJudge)
	require.Contains(t, v.Reason, "traversal -0.20")
}

// Threshold 0.99 denies all; it may exceed ask_below.
func TestThresholdDeniesAll(t *testing.T) {
	for _, tc := range [][3]string{
		{"read this", "fs.read", `{"path":"a"}`}, {"change this", "fs.change", `{"path":"a"}`},
		{"exec this in a shell", "shell.exec", `{"command":"ls"}`},
	} {
		d := decide(t, "judge: {threshold: 0.99, ask_below: 0.50}\n", tc[0], tc[1], tc[2])
		require.Equal(t, sentinel.Deny, d.Outcome, tc)
		require.Equal(t, "judge.below_threshold", d.Code)
	}
}
