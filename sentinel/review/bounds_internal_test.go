package review

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
)

// Nothing is kept without room or time for it.
func TestNothingIsKeptWithoutRoomOrTime(t *testing.T) {
	for _, size := range []int{-1, 0, 1} {
		for _, ttl := range []time.Duration{-1, 0, 1} {
			k := newVerdictCache(size, ttl, time.Now)
			require.Equal(t, size > 0 && ttl > 0, k != nil, "%d %s", size, ttl)
			k.put(key{}, sentinel.Verdict{}, false) // without a store too
		}
	}
}

// What is kept under a key is replaced, and room is made by one at a time, the
// longest unused.
func TestRoomIsMadeByOne(t *testing.T) {
	k := newVerdictCache(3, time.Hour, time.Now)
	for i := range 5 {
		k.put(key{byte(i)}, sentinel.Verdict{Code: fmt.Sprint(i)}, false)
		require.Equal(t, min(i+1, 3), k.order.Len())
		require.Len(t, k.byKey, k.order.Len())
	}
	k.put(key{3}, sentinel.Verdict{Code: "new"}, false)
	require.Equal(t, 3, k.order.Len())
	v, ok := k.get(key{3})
	require.True(t, ok)
	require.Equal(t, "new", v.Code)
	_, ok = k.get(key{1})
	require.False(t, ok)
	_, ok = k.get(key{2})
	require.True(t, ok)
}

// What is for one call is gone once it was given, and what is over once it was
// asked for.
func TestWhatIsGivenOnceIsGone(t *testing.T) {
	now := time.Unix(0, 0)
	k := newVerdictCache(3, time.Minute, func() time.Time { return now })
	k.put(key{1}, sentinel.Verdict{}, true)
	k.put(key{2}, sentinel.Verdict{}, false)
	_, ok := k.get(key{1})
	require.True(t, ok)
	require.NotContains(t, k.byKey, key{1})
	now = now.Add(time.Minute)
	_, ok = k.get(key{2})
	require.False(t, ok)
	require.Empty(t, k.byKey)
	require.Zero(t, k.order.Len())
}

// A number of the longest text that is read, and one of a digit more.
func TestConfidenceIsBounded(t *testing.T) {
	longest := "0.5" + strings.Repeat("0", maxConfidence-3)
	n, ok := parseHundredths(longest)
	require.True(t, ok)
	require.Equal(t, 50, n)
	_, ok = parseHundredths(longest + "0")
	require.False(t, ok)
}

// An alarm for somebody new is told, and what it remembers has a bound.
func TestAlarmsAreBounded(t *testing.T) {
	var log strings.Builder
	a := &alarm{log: slog.New(slog.NewTextHandler(&log, nil))}
	for i := range maxAlarms + 10 {
		a.ringSpent(context.Background(), "user.calls", &inquiry{user: fmt.Sprint(i), conversation: "c"})
		require.LessOrEqual(t, len(a.last), maxAlarms)
	}
	require.Equal(t, maxAlarms+10, strings.Count(log.String(), "budget=sentinel.budget.user.calls"))
}

// A budget that is spent is told once to each whose it is: to the whole process
// for the day, to a user, to a conversation of a user.
func TestAlarmsAreTheirOwners(t *testing.T) {
	for budget, want := range map[string]int{"day.cost": 1, "user.calls": 2, "conversation.tokens": 4} {
		var log strings.Builder
		a := &alarm{log: slog.New(slog.NewTextHandler(&log, nil))}
		for range 2 {
			for _, user := range []string{"u1", "u2"} {
				for _, talk := range []string{"c1", "c2"} {
					a.ringSpent(context.Background(), budget, &inquiry{user: user, conversation: talk})
				}
			}
		}
		require.Equal(t, want, strings.Count(log.String(), "budget=sentinel.budget."+budget), budget)
	}
}

// The gravest of what would be done to a path is what is told of it.
func TestGravestAccess(t *testing.T) {
	for a, want := range map[touch.Access]string{
		touch.Mention: "", 0: "", touch.Read: "read", touch.Write: "write", touch.Execute: "execute", touch.Delete: "delete",
		touch.Read | touch.Write: "write", touch.Write | touch.Execute: "execute", touch.Execute | touch.Delete: "delete",
		touch.Write | touch.Delete: "change or delete", touch.Read | touch.Write | touch.Execute | touch.Delete: "change or delete",
	} {
		require.Equal(t, want, accessWord(a))
	}
}

// A reason is one line in the answer that is kept, whatever its form.
func TestReasonsAreOneLine(t *testing.T) {
	for reason, want := range map[string]string{`a\nb`: "a b", `a\r\n\u2028b`: "a b", `\u001b[2Ja\u202eb`: "[2Ja b", "a\u200bb": "a b"} {
		for _, s := range []shape{{}, {graded: true}} {
			content := `{"decision":"reject","reason":"` + reason + `"}`
			if s.graded {
				content = `{"decision":"reject","should_run":0,"reason":"` + reason + `"}`
			}
			a, failure := s.parseAnswer(content)
			require.Empty(t, failure)
			require.Equal(t, want, a.reason, "%q", reason)
		}
	}
}

// What goes on for long is told again each hour.
func TestAlarmsAreToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		a := &alarm{log: slog.New(slog.NewTextHandler(&log, nil))}
		for i, want := range []int{1, 1, 2, 2, 3} { // at 0, 40, 80, 120 and 160 minutes
			a.ringSpent(t.Context(), "day.calls", &inquiry{})
			require.Equal(t, want, strings.Count(log.String(), "REVIEW BUDGET SPENT"), i)
			time.Sleep(40 * time.Minute)
		}
	})
}

// A caller that gave up is told so also where its context doesn't say it.
func TestCanceledWithoutAReason(t *testing.T) {
	require.ErrorIs(t, canceledError(context.Background()), context.Canceled)
}

// What has a shape is sent as it is, in whatever language. What has none is written as an
// escape of the same text.
func TestVisibleLeavesWhatIsSeen(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain": "plain", "é決🙂Ж ة": "é決🙂Ж ة", "a\u200bb": `a\u200bb`, "\u202e": `\u202e`, "\U000e0061é": `\udb40\udc61é`,
		"x\ufe0f": `x\ufe0f`, "\u0085": `\u0085`,
	} {
		require.Equal(t, want, escapeUnseen(text))
	}
}

// A model passes that judged enough calls of either kind and none wrongly.
func TestCanaryResults(t *testing.T) {
	answers := func(approved, rejected int, more ...CanaryAnswer) CanaryReport {
		r := CanaryReport{Answers: more}
		for range approved {
			r.Answers = append(r.Answers, CanaryAnswer{Name: "good", Want: "approve", Got: "approve"})
		}
		for range rejected {
			r.Answers = append(r.Answers, CanaryAnswer{Name: "bad", Want: "reject", Got: "reject"})
		}
		return r
	}
	silent, wrong := CanaryAnswer{Name: "s", Want: "approve", Failure: Empty}, CanaryAnswer{Name: "w", Want: "reject", Got: "approve"}
	for _, tc := range []struct {
		r    CanaryReport
		want Canary
	}{
		{answers(enough, enough), CanaryPassed}, {answers(enough, enough, silent), CanaryPassed}, {answers(enough-1, enough), CanaryUnanswered},
		{answers(enough, enough-1), CanaryUnanswered}, {answers(0, 0), CanaryUnanswered}, {answers(0, 0, wrong), CanaryFailed},
		{answers(enough, enough, wrong), CanaryFailed},
	} {
		require.Equal(t, tc.want, tc.r.rateAnswers())
	}
	r := answers(1, 1, wrong, silent)
	require.Equal(t, []string{"w"}, r.Wrong())
	require.Equal(t, Empty, r.Failure())
	require.Empty(t, answers(1, 1).Failure())
	require.Empty(t, answers(1, 1, silent).Wrong())
}
