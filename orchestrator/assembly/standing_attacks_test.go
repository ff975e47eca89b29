package assembly_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/skills"
)

// letterSchema has a target beside content.
const letterSchema = `{"type":"object","properties":{"to":{"type":"string","x-target":true},"body":{"type":"string","x-content":true}}}`

// nest is a house with an inbox and one skill of the test's own.
type nest struct {
	*assembly.Parts
	t   *testing.T
	ran []string
}

func openNest(t *testing.T, params string) *nest {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "workspace"), 0o700))
	n := &nest{t: t}
	file := filepath.Join(dir, "vedette.yaml")
	require.NoError(t, os.WriteFile(file, []byte(bureauHead+bureauAsks+"approvals: {timeout: 10m, inbox: true}\n"+
		"judge: {threshold: 0, ask_below: 0}\n"), 0o600))
	cfg, err := config.Load(file, config.Options{KnownSkills: []string{"paper.send"}})
	require.NoError(t, err)
	n.Parts, err = assembly.Build(t.Context(), cfg, assembly.Options{Natives: []assembly.Native{{
		Spec: skills.Spec{
			Name: "paper.send", Effect: skills.Irreversible, Reaches: skills.Others, Output: skills.Trusted, Run: skills.Run{Kind: "native"},
			Parameters: json.RawMessage(params),
		},
		Run: func(_ context.Context, order skills.Order) (skills.Result, error) {
			n.ran = append(n.ran, order.Args)
			return skills.Result{Content: "sent"}, nil
		},
	}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

func (n *nest) send(id, user, args string) (asked []approval.Item, err error) {
	n.t.Helper()
	sc, err := skills.NewScope("paper.send")
	require.NoError(n.t, err)
	req := "send the paper to bob"
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: id, User: user, Conversation: "c-" + id, Turn: "t-" + id, Agent: "clerk", Mission: "m",
		MissionBy: sentinel.ByOrchestrator, Request: &req, Scope: sc,
	})
	require.NoError(n.t, err)
	ctx, cancel := context.WithCancel(n.t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := n.Checkpoint.Numbered(g).Invoke(ctx, "paper.send", json.RawMessage(args))
		done <- err
	}()
	list := func() []approval.Item {
		l, err := n.Inbox.List(n.t.Context(), approval.Filter{Conversation: "c-" + id})
		require.NoError(n.t, err)
		return l
	}
	require.Eventually(n.t, func() bool { return len(done) > 0 || len(list()) > 0 }, 4*time.Minute, time.Millisecond)
	if len(done) == 0 {
		cancel()
	}
	err = <-done
	return list(), err
}

// A standing approval holds for no other target, also where that stands beside content.
func TestStandingHoldsTargetsWithinArguments(t *testing.T) {
	for name, c := range map[string]struct{ params, first, second string }{
		"nested": {
			`{"type":"object","properties":{"message":` + letterSchema + `}}`,
			`{"message":{"to":"bob@example.com","body":"hi"}}`, `{"message":{"to":"eve@evil.test","body":"hi"}}`,
		},
		"list": {
			`{"type":"object","properties":{"mails":{"type":"array","items":` + letterSchema + `}}}`,
			`{"mails":[{"to":"bob@example.com","body":"hi"}]}`, `{"mails":[{"to":"eve@evil.test","body":"hi"}]}`,
		},
		"both marks": {
			`{"type":"object","properties":{"to":{"type":"string","x-target":true,"x-content":true}}}`,
			`{"to":"bob@example.com"}`, `{"to":"eve@evil.test"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := openNest(t, c.params)
			asked, err := n.send("g1", "ann", c.first)
			require.ErrorIs(t, err, sentinel.ErrHeld)
			_, err = n.Inbox.Stand(t.Context(), approval.Answer{Approval: asked[0].ID, Word: approval.Yes, By: "cat", Via: "test"},
				approval.StandingTerms{Uses: 5, For: time.Hour})
			require.NoError(t, err)
			_, err = n.send("g2", "ann", c.second)
			require.Empty(t, n.ran, "ran without a person: %v", err)
		})
	}
}

// Calls without a user get no standing approval.
func TestStandingNeedsAUser(t *testing.T) {
	n := openNest(t, `{"type":"object","properties":{"to":{"type":"string","x-target":true}}}`)
	asked, err := n.send("g1", "", `{"to":"bob"}`)
	require.ErrorIs(t, err, sentinel.ErrHeld)
	_, err = n.Inbox.Stand(t.Context(), approval.Answer{Approval: asked[0].ID, Word: approval.Yes, By: "cat", Via: "test"},
		approval.StandingTerms{Uses: 5, For: time.Hour})
	require.Error(t, err, "a standing approval for the calls of no user at all")
}

// A standing approval is for the file as it was.
func TestStandingEndsWithItsFile(t *testing.T) {
	n := openNest(t, `{"type":"object","properties":{"to":{"type":"string","x-target":true},"file":{"type":"string","x-path":true}}}`)
	root := n.Config.Guard.Roots[0]
	file := filepath.Join(fmt.Sprint(root), "paper.txt")
	require.NoError(t, os.WriteFile(file, []byte("the minutes"), 0o600))
	args := fmt.Sprintf(`{"to":"bob","file":%q}`, file)
	asked, err := n.send("g1", "ann", args)
	require.ErrorIs(t, err, sentinel.ErrHeld)
	_, err = n.Inbox.Stand(t.Context(), approval.Answer{Approval: asked[0].ID, Word: approval.Yes, By: "cat", Via: "test"},
		approval.StandingTerms{Uses: 5, For: time.Hour})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("all the passwords"), 0o600))
	_, err = n.send("g2", "ann", args)
	require.Empty(t, n.ran, "ran with another file's content, err %v", err)
}

// Calls that race for the last use of a standing approval: one of them runs.
func TestStandingUsesAreCountedOnce(t *testing.T) {
	n := openNest(t, `{"type":"object","properties":{"to":{"type":"string","x-target":true}}}`)
	asked, err := n.send("g1", "ann", `{"to":"bob"}`)
	require.ErrorIs(t, err, sentinel.ErrHeld)
	_, err = n.Inbox.Stand(t.Context(), approval.Answer{Approval: asked[0].ID, Word: approval.Yes, By: "cat", Via: "test"},
		approval.StandingTerms{Uses: 1, For: time.Hour})
	require.NoError(t, err)
	type ended struct {
		asked []approval.Item
		err   error
	}
	done := make(chan ended, 8)
	for i := range 8 {
		go func() {
			asked, err := n.send(fmt.Sprint("r", i), "ann", `{"to":"bob"}`)
			done <- ended{asked, err}
		}()
	}
	held := 0
	for range 8 {
		e := <-done
		if e.err == nil {
			require.Empty(t, e.asked, "no person is asked about what a standing approval lets run")
			continue
		}
		require.ErrorIs(t, e.err, sentinel.ErrHeld, "the others are asked about")
		require.Len(t, e.asked, 1)
		require.Equal(t, approval.StatePending, e.asked[0].State)
		held++
	}
	require.Equal(t, 7, held)
	require.Len(t, n.ran, 1)
}
