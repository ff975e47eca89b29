package vedettetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/vedettetest"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/skills"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mail is a skill that counts what it sent.
func mail(t *testing.T, sent *[]string) *skills.GoSkill {
	t.Helper()
	s, err := skills.Func(skills.Spec{Name: "mail.send", Description: "Send mail.", Effect: skills.Irreversible},
		func(_ context.Context, in struct{ To string }) (string, error) {
			*sent = append(*sent, in.To)
			return "sent", nil
		})
	require.NoError(t, err)
	return s
}

// parts play a turn in which one agent mails Bob.
func parts() []vedettetest.Part {
	return []vedettetest.Part{
		vedettetest.Orchestrator("invite bob@example.com",
			vedettetest.Dispatch("mailer", "mail an invitation to bob@example.com", "mail.send"), vedettetest.Await(), "That is all."),
		vedettetest.Agent("mail an invitation", vedettetest.Use("mail.send", map[string]any{"To": "bob@example.com"}), "ok"),
	}
}

const asks = "permissions: [{skill: mail.send, then: ask, reason: it leaves the house}]\n"

// A person's yes runs the call that a rule asks about; a no, and nobody, do not.
func TestKit(t *testing.T) {
	for name, row := range map[string]struct {
		answer  func(string, json.RawMessage) (string, bool)
		outcome string
		code    string
	}{
		"yes":    {func(string, json.RawMessage) (string, bool) { return "ann", true }, "allow", ""},
		"no":     {func(string, json.RawMessage) (string, bool) { return "ann", false }, "deny", "approval.denied"},
		"no one": {nil, "deny", "approval.nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			var sent []string
			kit := vedettetest.New(t, vedettetest.Options{Skills: []*skills.GoSkill{mail(t, &sent)}, Config: asks}, parts()...)
			kit.Answer(row.answer)
			reply := kit.Send("invite bob@example.com")
			require.Equal(t, "That is all.", reply.Text)
			step := kit.RequireDecision("mail.send", row.outcome, row.code)
			require.JSONEq(t, `{"To":"bob@example.com"}`, string(kit.Arguments(step)))
			kit.RequireNoFurther()
			require.Equal(t, row.outcome == "allow", len(sent) == 1)
			require.Equal(t, row.answer != nil, step.Approver == "ann")
		})
	}
}

// failing is a test that notes that it failed.
type failing struct {
	testing.TB
	said []string
}

func (f *failing) Helper() {}
func (f *failing) Fatalf(format string, args ...any) {
	f.said = append(f.said, format)
	panic(f)
}

// An expectation that isn't met fails the test.
func TestKitFails(t *testing.T) {
	var sent []string
	f := &failing{TB: t}
	kit := vedettetest.New(f, vedettetest.Options{Skills: []*skills.GoSkill{mail(t, &sent)}}, parts()...)
	kit.Send("invite bob@example.com")
	require.Panics(t, kit.RequireNoFurther)
	require.Panics(t, func() { kit.RequireDecision("mail.read", "allow", "") })
	require.Panics(t, func() { kit.RequireDecision("mail.send", "allow", "") }, "it was taken")
	require.Len(t, f.said, 3)
	require.True(t, strings.HasPrefix(f.said[2], "no further call"))
	require.Panics(t, func() { vedettetest.Agent("x", 5) })
}

// A test as a program would write it: a rule keeps mail in the house.
func TestKitExample(t *testing.T) {
	var sent []string
	kit := vedettetest.New(t, vedettetest.Options{
		Skills: []*skills.GoSkill{mail(t, &sent)},
		Config: `permissions: [{skill: mail.send, then: deny, when: "!args.To.endsWith('@example.org')"}]` + "\n",
	}, parts()...)
	kit.Send("invite bob@example.com")
	kit.RequireDecision("mail.send", "deny", "permission.denied")
	kit.RequireNoFurther()
	require.Empty(t, sent)
}

// A program whose people answer in the inbox: the question waits there, whoever asked, until it is answered.
func TestKitWithAnInbox(t *testing.T) {
	var sent []string
	kit := vedettetest.New(t, vedettetest.Options{
		Skills: []*skills.GoSkill{mail(t, &sent)}, Config: asks + "approvals: {inbox: true, who: [{approvers: [boss]}]}\n",
	}, parts()...)
	ended := make(chan string, 1)
	go func() {
		c, err := kit.Open(context.WithoutCancel(t.Context()), orchestrator.ConversationOptions{ID: "c1", User: "ann"})
		if err != nil {
			ended <- err.Error()
			return
		}
		reply, err := c.Send(context.WithoutCancel(t.Context()), "invite bob@example.com")
		ended <- fmt.Sprint(reply.Text, err)
	}()
	inbox := kit.Parts().Inbox
	var list []approval.Item
	require.Eventually(t, func() bool {
		var err error
		list, err = inbox.List(t.Context(), approval.Filter{Conversation: "c1"})
		return err == nil && len(list) == 1
	}, 2*time.Minute, time.Millisecond)
	for _, by := range []string{"ann", "boss"} {
		_, err := inbox.Answer(t.Context(), approval.Answer{Approval: list[0].ID, Word: approval.Yes, Digest: list[0].Digest, By: by})
		require.Equal(t, by == "boss", err == nil, "%v", err)
	}
	require.Equal(t, "That is all.<nil>", <-ended)
	require.Equal(t, "boss", kit.RequireDecision("mail.send", "allow", "").Approver)
	require.Len(t, sent, 1)
}
