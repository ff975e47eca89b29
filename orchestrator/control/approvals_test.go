//go:build unix

package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/approval"
)

// desk is a process with an inbox that keeps what it is told.
type desk struct {
	process
	answers []approval.Answer
	terms   []approval.StandingTerms
	revoked []string
	filter  approval.Filter
	fail    error
}

func (d *desk) ListApprovals(_ context.Context, f approval.Filter) ([]approval.Item, error) {
	d.filter = f
	return nil, d.fail
}

func (d *desk) ShowApproval(_ context.Context, begin string) (approval.Card, error) {
	return approval.Card{Item: approval.Item{ID: begin + "-whole"}}, d.fail
}

func (d *desk) AnswerApproval(_ context.Context, a approval.Answer) (approval.Item, error) {
	d.answers = append(d.answers, a)
	return approval.Item{ID: a.Approval, State: approval.StateApproved}, d.fail
}

func (d *desk) StandApproval(_ context.Context, a approval.Answer, t approval.StandingTerms) (approval.Standing, error) {
	d.answers, d.terms = append(d.answers, a), append(d.terms, t)
	return approval.Standing{ID: "s1", From: a.Approval, By: a.By}, d.fail
}

func (d *desk) ListStanding(_ context.Context, f approval.StandingFilter) ([]approval.Standing, error) {
	return []approval.Standing{{ID: "s1", User: f.User}}, d.fail
}

func (d *desk) RevokeStanding(_ context.Context, id, by, via string) (approval.Standing, error) {
	d.revoked = append(d.revoked, id+" "+by+" "+via)
	return approval.Standing{ID: id, RevokedBy: by}, d.fail
}

// An edit and a standing approval go over the socket as they are, in the name of the user at the other
// end; so does the end of one.
func TestEditsAndStandingOverTheSocket(t *testing.T) {
	d := &desk{}
	c := serveDesk(t, d, fromOutside)
	me := NameLocal(os.Getuid())
	_, err := c.AnswerApproval(t.Context(), approval.Answer{
		Approval: "d1", Word: approval.Yes, Digest: "abc", Edit: []byte(`{"to":"a","to":"b"}`), By: "eve",
	})
	require.NoError(t, err)
	require.Equal(t, `{"to":"a","to":"b"}`, string(d.answers[0].Edit), "byte for byte: a name twice is refused where it is read")
	s, err := c.StandApproval(t.Context(), approval.Answer{Approval: "d1", Word: approval.Yes, Digest: "abc", By: "eve"},
		approval.StandingTerms{Uses: 3, For: time.Hour})
	require.NoError(t, err)
	require.Equal(t, me, s.By)
	require.Equal(t, []approval.StandingTerms{{Uses: 3, For: time.Hour}}, d.terms)
	list, err := c.ListStanding(t.Context(), approval.StandingFilter{User: "ann"})
	require.NoError(t, err)
	require.Equal(t, "ann", list[0].User)
	_, err = c.RevokeStanding(t.Context(), "s1")
	require.NoError(t, err)
	require.Equal(t, []string{"s1 " + me + " cli"}, d.revoked)
	_, err = c.RevokeStanding(t.Context(), "")
	require.Error(t, err)
	d.fail = fmt.Errorf("%w: for a reason", approval.ErrStanding)
	_, err = c.StandApproval(t.Context(), approval.Answer{Approval: "d1", Word: approval.Yes, Digest: "abc"}, approval.StandingTerms{})
	require.ErrorIs(t, err, approval.ErrStanding)
	require.EqualError(t, err, "this can't be a standing approval: for a reason")

	_, err = serveDesk(t, &process{}, fromOutside).ListStanding(t.Context(), approval.StandingFilter{})
	require.ErrorIs(t, err, ErrNoInbox)
}

func serveDesk(t *testing.T, b Backend, peer func(net.Conn) (who, error)) *Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.sock")
	s, err := serveAt(t.Context(), path, b, Options{}, peer)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return Dial(path)
}

func fromOutside(net.Conn) (who, error) { return who{uid: os.Getuid()}, nil }

// Who answers is the user at the other end, whatever the caller sends, and an answer says to what it is.
func TestAnswersAreTheCallers(t *testing.T) {
	d := &desk{}
	c := serveDesk(t, d, fromOutside)
	i, err := c.AnswerApproval(t.Context(), approval.Answer{
		Approval: "d1", Word: approval.No, Digest: "abc", Feedback: "why\n\x1b", By: "eve", Via: "eve",
	})
	require.NoError(t, err)
	require.Equal(t, approval.StateApproved, i.State)
	require.Equal(t, []approval.Answer{{
		Approval: "d1", Word: approval.No, Digest: "abc", Feedback: "why\n\x1b", By: NameLocal(os.Getuid()), Via: ViaCommand,
	}}, d.answers)
	require.True(t, strings.HasPrefix(d.answers[0].By, approval.LocalPrefix))
	require.Equal(t, "local:4000000001", NameLocal(4_000_000_001), "a user without a name")
	for _, body := range []any{
		map[string]any{"approval": "d1", "word": "yes", "digest": "abc", "by": "eve"},
		map[string]any{"approval": "d1", "word": "yes"}, "yes", nil,
	} {
		err := c.callProcess(t.Context(), http.MethodPost, "/v1/approvals/answers", body, &struct{}{})
		require.ErrorIs(t, err, approval.ErrAnswer, "%v", body)
	}
	require.Len(t, d.answers, 1)

	stranger := serveDesk(t, d, func(net.Conn) (who, error) { return who{uid: os.Getuid() + 1}, nil })
	_, err = stranger.AnswerApproval(t.Context(), approval.Answer{Approval: "d1", Word: approval.Yes, Digest: "abc"})
	require.ErrorContains(t, err, "only the user whose process this is, and root, may")
	require.Len(t, d.answers, 1)
}

// Lists and cards come as they were asked for, and errors as they were meant.
func TestApprovalsRoundTrip(t *testing.T) {
	d := &desk{}
	c := serveDesk(t, d, fromOutside)
	f := approval.Filter{Conversation: "c 1&", User: "ann", Skill: "email.send", State: approval.StateDenied, All: true, After: "d0", Limit: 7}
	list, err := c.ListApprovals(t.Context(), f)
	require.NoError(t, err)
	require.Empty(t, list)
	require.Equal(t, f, d.filter)
	card, err := c.ShowApproval(t.Context(), "a/b c")
	require.NoError(t, err)
	require.Equal(t, "a/b c-whole", card.ID)

	d.fail = &approval.DecidedError{Item: approval.Item{ID: "d1", State: approval.StateDenied, By: "bob", At: time.Unix(1, 0).UTC()}}
	_, err = c.AnswerApproval(t.Context(), approval.Answer{Approval: "d1", Word: approval.Yes, Digest: "abc"})
	var decided *approval.DecidedError
	require.ErrorAs(t, err, &decided)
	require.Equal(t, d.fail, err)
	for _, want := range []error{
		&approval.StaleError{Approval: "d1"}, &approval.NotAllowedError{Approval: "d1", By: "eve", Rules: []string{"r"}},
	} {
		d.fail = want
		_, err = c.ShowApproval(t.Context(), "d1")
		require.Equal(t, want, err)
	}
	for _, want := range []error{approval.ErrUnknown, approval.ErrAmbiguous, approval.ErrAnswer, ErrNoInbox} {
		d.fail = want
		_, err = c.ShowApproval(t.Context(), "d1")
		require.ErrorIs(t, err, want)
		require.EqualError(t, err, want.Error())
	}
	d.fail = errors.New("the disk is full")
	_, err = c.ListApprovals(t.Context(), f)
	require.EqualError(t, err, "the disk is full")

	none := serveDesk(t, &process{}, fromOutside)
	_, err = none.ListApprovals(t.Context(), approval.Filter{})
	require.ErrorIs(t, err, ErrNoInbox)
	_, err = none.ShowApproval(t.Context(), "d1")
	require.ErrorIs(t, err, ErrNoInbox)
	_, err = none.AnswerApproval(t.Context(), approval.Answer{Approval: "d1", Word: approval.Yes, Digest: "abc"})
	require.ErrorIs(t, err, ErrNoInbox)
}
