package habit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/habit"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// shelf keeps approvals and can be told to fail.
type shelf struct {
	rows map[string][][]byte
	fail error
	read int
}

func (s *shelf) Approvals(_ context.Context, user, ref string, limit int) ([][]byte, error) {
	s.read++
	list := s.rows[user+"/"+ref]
	return list[max(0, len(list)-limit):], s.fail
}

// bench is Habits on a shelf, with a clock that a test moves.
type bench struct {
	*habit.Habits
	shelf *shelf
	now   time.Time
	log   bytes.Buffer
}

func newBench() *bench {
	b := &bench{shelf: &shelf{rows: map[string][][]byte{}}, now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	b.Habits = habit.New(habit.Options{Store: b.shelf, Key: [32]byte{1}, Now: func() time.Time { return b.now },
		Log: slog.New(slog.NewTextHandler(&b.log, nil))})
	return b
}

// approve keeps an approval of the call on each of the days before now.
func (b *bench) approve(t *testing.T, c sentinel.Call, days ...int) {
	t.Helper()
	for _, d := range days {
		row, ok := b.Remember(t.Context(), c, b.now.AddDate(0, 0, -d))
		require.True(t, ok)
		require.Equal(t, b.now.AddDate(0, 0, -d).Add(habit.For), row.Expires)
		id := c.Grant().User() + "/" + row.Ref
		b.shelf.rows[id] = append(b.shelf.rows[id], row.Data)
	}
}

const marked = `{"type":"object","properties":{"to":{"type":"string","x-target":true},"amount":{"type":"number"},"room":{"type":"integer"},
	"room_id":{"type":"integer"},"pin":{"type":"string","x-secret":true},"body":{"type":"string","x-content":true},"when":{"type":"string"},
	"role":{"type":"string"},"cc":{"type":"array","items":{"type":"string"}},"file":{"type":"string","x-path":true}}}`

func newCall(t *testing.T, params, args string, tainted bool) sentinel.Call {
	t.Helper()
	s, err := skills.Compile(skills.Spec{Name: "mail.send", Effect: skills.Irreversible, Parameters: json.RawMessage(params)})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(t, err)
	sc, err := skills.NewScope("mail.*")
	require.NoError(t, err)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", User: "ann", Conversation: "c", Agent: "a", Scope: sc, Tainted: tainted})
	require.NoError(t, err)
	c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: "mail.send", Args: []byte(args), Grant: g})
	require.NoError(t, err)
	return c
}

// What may differ between calls of one habit, and what may not. In a skill without marks
// every text may be a name, so none may differ.
func TestWhatAHabitIsOf(t *testing.T) {
	unmarked := strings.NewReplacer(`,"x-target":true`, "", `,"x-content":true`, "", `,"x-path":true`, "",
		`,"x-secret":true`, "").Replace(marked)
	for name, tc := range map[string]struct {
		before, now string
		is, plain   bool // with marks, and without
	}{
		"the same":            {`{"to":"a@b.test","body":"x"}`, `{"to":"a@b.test","body":"x"}`, true, true},
		"other content":       {`{"to":"a@b.test","body":"x"}`, `{"to":"a@b.test","body":"a longer text"}`, true, false},
		"another date":        {`{"to":"a@b.test","when":"2026-04-01"}`, `{"to":"a@b.test","when":"2026-05-01T10:00:00Z"}`, true, false},
		"a smaller number":    {`{"to":"a@b.test","room":9}`, `{"to":"a@b.test","room":3}`, true, true},
		"a greater number":    {`{"to":"a@b.test","room":9}`, `{"to":"a@b.test","room":10}`, false, false},
		"another number's id": {`{"to":"a@b.test","room_id":9}`, `{"to":"a@b.test","room_id":3}`, false, false},
		"another role":        {`{"to":"a@b.test","role":"viewer"}`, `{"to":"a@b.test","role":"editor"}`, false, false},
		"another role's name": {`{"to":"a@b.test","role":"read only"}`, `{"to":"a@b.test","role":"full control"}`, false, false},
		"another file":        {`{"to":"a@b.test","file":"/srv/a"}`, `{"to":"a@b.test","file":"/srv/b"}`, false, false},
		"another copy":        {`{"to":"a@b.test","cc":["c@b.test"]}`, `{"to":"a@b.test","cc":["c@b.test","d@b.test"]}`, false, false},
		"nobody":              {`{"to":"a@b.test"}`, `{"body":"x"}`, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			for params, is := range map[string]bool{marked: tc.is, unmarked: tc.plain} {
				b := newBench()
				b.approve(t, newCall(t, params, tc.before, false), 60, 30, 1)
				require.Equal(t, is, b.IsHabit(t.Context(), newCall(t, params, tc.now, false)))
			}
		})
	}
}

// What else goes along is of the habit: another message, note or file is another habit. What is
// said beside it isn't.
func TestWhatGoesAlongIsOfTheHabit(t *testing.T) {
	const params = `{"type":"object","properties":{"to":{"type":"string","x-target":true},"message_id":{"type":"string"},
		"note":{"type":"string"},"content_file":{"type":"string"},"attachment_title":{"type":"string"},"textUrl":{"type":"string"},
		"commentKey":{"type":"string"},"title":{"type":"string"},"cover_note":{"type":"string"},"body":{"type":"string"},` +
		`"name":{"type":"string"}}}`
	for name, tc := range map[string]struct {
		before, now string
		is          bool
	}{
		"another message": {`"message_id":"m-1"`, `"message_id":"m-77"`, false},
		"another note":    {`"note":"n-1"`, `"note":"passwords"`, false},
		"another file":    {`"content_file":"offer.pdf"`, `"content_file":"salaries.pdf"`, false},
		"another file, long": {`"content_file":"offer.pdf"`,
			`"content_file":"/srv/all of the house/` + strings.Repeat("salaries ", 9) + `"`, false},
		"another attachment":        {`"attachment_title":"offer"`, `"attachment_title":"salaries of all"`, false},
		"another link":              {`"textUrl":"http://a.test"`, `"textUrl":"http://b.test"`, false},
		"another key":               {`"commentKey":"k1"`, `"commentKey":"k2"`, false},
		"another title":             {`"title":"offer"`, `"title":"salaries"`, false},
		"another name":              {`"name":"offer"`, `"name":"all of the salaries"`, false},
		"the same, said otherwise":  {`"cover_note":"as we said"`, `"cover_note":"have a nice week"`, true},
		"the same, another subject": {`"message_id":"m-1","body":"hello"`, `"message_id":"m-1","body":"bye"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			b.approve(t, newCall(t, params, `{"to":"a@b.test",`+tc.before+`}`, false), 60, 30, 1)
			require.Equal(t, tc.is, b.IsHabit(t.Context(), newCall(t, params, `{"to":"a@b.test",`+tc.now+`}`, false)))
		})
	}
}

// Calls without a recipient, tainted ones, and those with arguments that no schema names have
// no habit, and leave none.
func TestCallsWithoutHabits(t *testing.T) {
	open := strings.Replace(marked, `{"type":"object",`, `{"type":"object","additionalProperties":true,`, 1)
	for name, c := range map[string]sentinel.Call{
		"no recipient":       newCall(t, marked, `{"body":"x"}`, false),
		"tainted":            newCall(t, marked, `{"to":"a@b.test"}`, true),
		"an unknown key":     newCall(t, open, `{"to":"a@b.test","x":1}`, false),
		"the call of nobody": {},
	} {
		b := newBench()
		_, ok := b.Remember(t.Context(), c, b.now)
		require.False(t, ok, name)
		require.False(t, b.IsHabit(t.Context(), c), name)
		require.Zero(t, b.shelf.read, name)
	}
}

// A store that fails is no habit, and the log is told once of each outage.
func TestAnOutageIsNoHabit(t *testing.T) {
	b, c := newBench(), newCall(t, marked, `{"to":"a@b.test"}`, false)
	b.approve(t, c, 3, 2, 1)
	for outage := range 2 {
		b.shelf.fail = errors.New("away")
		for range 3 {
			require.False(t, b.IsHabit(t.Context(), c))
		}
		require.Equal(t, outage+1, strings.Count(b.log.String(), "habits can't be read"))
		b.shelf.fail = nil
		require.True(t, b.IsHabit(t.Context(), c))
		b.now = b.now.Add(time.Minute) // what was read is no longer kept
	}
	require.NotContains(t, b.log.String(), "a@b.test")
	left, cancel := context.WithCancel(t.Context())
	cancel()
	b.shelf.fail = context.Canceled
	require.False(t, b.IsHabit(left, c))
	require.Equal(t, 2, strings.Count(b.log.String(), "habits can't be read"), "a caller that left is no outage")
}

// What was read is kept for ten seconds, of a bounded number of habits. What was approved
// since is read at once.
func TestReadApprovalsAreKeptBriefly(t *testing.T) {
	b, c := newBench(), newCall(t, marked, `{"to":"a@b.test"}`, false)
	b.approve(t, c, 3, 2)
	require.False(t, b.IsHabit(t.Context(), c))
	read := b.shelf.read
	require.False(t, b.IsHabit(t.Context(), c))
	require.Equal(t, read, b.shelf.read)
	b.approve(t, c, 1)
	require.True(t, b.IsHabit(t.Context(), c))
	b.shelf.rows = nil // as after a purge by another process
	b.now = b.now.Add(10 * time.Second)
	require.False(t, b.IsHabit(t.Context(), c))
	for i := range 1100 {
		require.False(t, b.IsHabit(t.Context(), newCall(t, marked, fmt.Sprintf(`{"to":"a%d@b.test"}`, i), false)))
	}
	read = b.shelf.read
	require.False(t, b.IsHabit(t.Context(), c))
	require.Equal(t, read+1, b.shelf.read, "more than the bound were read since")
}

// An approval that one of the same day covers isn't kept again; a greater one is.
func TestOneApprovalADay(t *testing.T) {
	b := newBench()
	five, six := newCall(t, marked, `{"to":"a@b.test","amount":5}`, false), newCall(t, marked, `{"to":"a@b.test","amount":6}`, false)
	b.approve(t, five, 0)
	_, ok := b.Remember(t.Context(), five, b.now.Add(time.Minute))
	require.False(t, ok)
	b.approve(t, six, 0)
	_, ok = b.Remember(t.Context(), five, b.now.AddDate(0, 0, 1))
	require.True(t, ok, "on another day")
}

// Approvals of a small amount are none of a greater one.
func TestATrialPaymentIsNoHabitForMore(t *testing.T) {
	b := newBench()
	b.approve(t, newCall(t, marked, `{"to":"a@b.test","amount":1}`, false), 3, 2, 1)
	require.True(t, b.IsHabit(t.Context(), newCall(t, marked, `{"to":"a@b.test","amount":1}`, false)))
	require.False(t, b.IsHabit(t.Context(), newCall(t, marked, `{"to":"a@b.test","amount":5000}`, false)))
}

// Rows that can't be read, from the future or of another key count for nothing.
func TestForeignRowsCountForNothing(t *testing.T) {
	b, c := newBench(), newCall(t, marked, `{"to":"a@b.test","amount":5}`, false)
	b.approve(t, c, 2, 1)
	for id := range b.shelf.rows {
		b.shelf.rows[id] = append(b.shelf.rows[id], []byte("{"), []byte(`{}`), []byte(`{"at":"2030-01-01T00:00:00Z","numbers":{"/amount":9}}`),
			[]byte(`{"at":"2025-01-01T00:00:00Z","numbers":{"/amount":9}}`))
	}
	require.False(t, b.IsHabit(t.Context(), c))
	b.approve(t, c, 0)
	require.True(t, b.IsHabit(t.Context(), c))
	require.False(t, b.IsHabit(t.Context(), newCall(t, marked, `{"to":"a@b.test","amount":9}`, false)))
	other := habit.New(habit.Options{Store: b.shelf, Key: [32]byte{2}, Now: func() time.Time { return b.now }})
	require.False(t, other.IsHabit(t.Context(), c))
}

// A summary gathers what is kept of one kind of call, in force or not. Rows that can't be read
// are of no day, and cut lists of recipients say so.
func TestSummarize(t *testing.T) {
	b := newBench()
	const params = `{"type":"object","properties":{"to":{"type":"array","x-target":true,"items":{"type":"string"}},` +
		`"amount":{"type":"number"}}}`
	many := make([]string, 11)
	for i := range many {
		many[i] = fmt.Sprintf("%d@%s.test", i, strings.Repeat("x", 200*(i%2)))
	}
	to, err := json.Marshal(many)
	require.NoError(t, err)
	b.approve(t, newCall(t, params, fmt.Sprintf(`{"to":%s,"amount":9}`, to), false), 60, 30, 1)
	b.approve(t, newCall(t, params, `{"to":["a@b.test"],"amount":5}`, false), 2, 91, 1)
	var rows []habit.Row
	for id, list := range b.shelf.rows {
		user, ref, _ := strings.Cut(id, "/")
		for _, data := range list {
			rows = append(rows, habit.Row{User: user, Ref: ref, Data: data})
		}
	}
	rows = append(rows, habit.Row{User: "zoe", Ref: "habit/hmac:00", Data: []byte("{")}, habit.Row{User: "zoe", Ref: "habit/hmac:00"})
	list := habit.Summarize(rows, b.now)
	require.Len(t, list, 3)
	byApprovals := map[string]habit.Summary{}
	for _, s := range list {
		require.LessOrEqual(t, len(s.ID), 16)
		require.True(t, strings.HasPrefix(s.Ref(), "habit/hmac:"+s.ID))
		byApprovals[fmt.Sprint(s.User, s.AtMost["/amount"])] = s
	}
	long, short, broken := byApprovals["ann9"], byApprovals["ann5"], byApprovals["zoe0"]
	require.Equal(t, []any{true, 3, 8, 3}, []any{long.InForce, long.Days, len(long.To), long.ToMore})
	require.Less(t, len(long.WriteRecipients()), 8*130)
	require.True(t, strings.HasSuffix(long.WriteRecipients(), " and 3 more"))
	require.Equal(t, []any{false, 2, 3, "mail.send", "a@b.test"}, []any{short.InForce, short.Days, short.Approvals,
		short.Skill, short.WriteRecipients()})
	require.Equal(t, b.now.AddDate(0, 0, -1), short.Last.UTC())
	require.Equal(t, []any{false, 0, 2, ""}, []any{broken.InForce, broken.Days, broken.Approvals, broken.WriteRecipients()})
}
