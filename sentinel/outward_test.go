package sentinel_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// The text of a failure comes from the skill as a result does, and is trusted
// where that would be. (Invariant 11.)
func TestFailuresTaint(t *testing.T) {
	for output, tainted := range map[skills.Trust]bool{"": true, skills.Untrusted: true, skills.Trusted: false} {
		t.Run(string(output), func(t *testing.T) {
			b := newBenchFor(t, skills.Spec{Name: "test.do", Effect: skills.Read, Output: output}, func(_ *sentinel.Options, b *bench) {
				b.run = func() (skills.Result, error) {
					return skills.Result{Trust: skills.Trusted}, &skills.Failure{Code: skills.FailFailed, Err: errors.New("write to kim@quay.test")}
				}
			})
			desk := b.Desk(grant(t))
			_, err := desk.Invoke(t.Context(), "test.do", nil)
			var f *skills.Failure
			require.ErrorAs(t, err, &f)
			require.Equal(t, tainted, desk.Tainted())
			require.Equal(t, 1, desk.Trace().Len())
			require.True(t, desk.Trace().Step(0).Failed)
			require.Equal(t, tainted, desk.Trace().Untrusted())
		})
	}
}

// However many destinations the user named: a call with more of them than are
// looked up reaches others, a read and a change.
func TestManyDestinationsAreOutward(t *testing.T) {
	list := json.RawMessage(`{"type":"object","properties":{"to":{"type":"array","items":{"type":"string","x-target":true}}}}`)
	for _, effect := range []skills.Effect{skills.Read, skills.Modify} {
		for n, want := range map[int]bool{1: false, 64: false, 65: true} {
			t.Run(fmt.Sprint(effect, " ", n), func(t *testing.T) {
				s, err := skills.Compile(skills.Spec{Name: "test.do", Effect: effect, Reaches: skills.Self, Parameters: list})
				require.NoError(t, err)
				reg, err := skills.NewRegistry(s)
				require.NoError(t, err)
				request, to := "ask", []string{}
				for i := range n {
					to = append(to, fmt.Sprintf("kim%d@quay.test", i))
					request += " " + to[i]
				}
				g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a", Request: &request})
				require.NoError(t, err)
				raw, err := json.Marshal(map[string]any{"to": to})
				require.NoError(t, err)
				c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: "test.do", Args: raw, Grant: g})
				require.NoError(t, err)
				require.Equal(t, want, c.Outward())
			})
		}
	}
}
