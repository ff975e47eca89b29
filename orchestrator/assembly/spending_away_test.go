package assembly_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/limits/redisstore/redistest"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
)

const (
	eachQuestion = 100 // tokens that a question comes to
	userTokens   = 1_000_000
)

// payer is a program whose models' tokens are counted on a server of the
// test's own.
type payer struct {
	t     *testing.T
	srv   *redistest.Server
	parts *assembly.Parts
	model agents.Model
	log   *buffer
	// during is called while a question is under way, by its text.
	during atomic.Pointer[func()]
}

func newPayer(t *testing.T, tokens int, store string) *payer {
	t.Helper()
	y := &payer{t: t, srv: redistest.Start(t), log: &buffer{}}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if f := y.during.Load(); f != nil {
			(*f)()
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w,
			`{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant",`+
				`"content":"ok"}}],
			"usage":{"prompt_tokens":%d,"completion_tokens":10,"total_tokens":%d}}`, eachQuestion-10, eachQuestion)
	}))
	t.Cleanup(web.Close)
	text := fmt.Sprintf(`models: {m: {model: m, base_url: %q, timeout: 20s, max_tokens: 5000}}
roles: {orchestrator: m, agent: m}
limits: {user: {tokens: %d}, turn: {tokens: %d}, store: {driver: redis, url: %q, prefix: owed, timeout: 500ms%s}}
`, web.URL+"/v1", tokens, tokens, y.srv.URL(), store)
	y.parts = build(t, write(t, text), assembly.Options{Log: y.log.logger()})
	var err error
	y.model, err = y.parts.Model("agent")
	require.NoError(t, err)
	return y
}

// ask asks the model on behalf of a user, in a turn.
func (y *payer) ask(user, id string) error {
	who := llm.Caller{User: user, Conversation: "c-" + user, Turn: "t", ID: id}
	_, err := y.model.Chat(llm.WithCaller(context.Background(), who), llm.Request{
		Messages: []llm.Message{{Role: llm.RoleUser, Content: "hello"}}, Tools: []llm.Tool{{Name: "x", Parameters: []byte(`{"type":"object"}`)}},
	})
	return err
}

// counted is what the server has of a user and of their turn, spent or held,
// and whether any of it is only held.
func (y *payer) counted(user string) (used [2]int, held bool) {
	y.t.Helper()
	store, err := redisstore.Open(redisstore.Options{URL: y.srv.URL(), Prefix: "owed", Timeout: 20 * time.Second})
	require.NoError(y.t, err)
	defer func() { require.NoError(y.t, store.Close()) }()
	for i, b := range []limits.Budgets{{User: limits.Budget{Tokens: userTokens}}, {Turn: limits.Budget{Tokens: userTokens}}} {
		l, err := limits.New(limits.Config{Budgets: b}, store)
		require.NoError(y.t, err)
		most := int64(userTokens + 1) // more than there can be room for: it is told what is used
		v, err := l.Hold(y.t.Context(), limits.Spending{ID: "look", User: user, Conversation: "c-" + user, Turn: "t", Tokens: most})
		require.NoError(y.t, err)
		require.False(y.t, v.OK)
		used[i] = v.Used
		v, err = l.Hold(y.t.Context(),
			limits.Spending{ID: "look", User: user, Conversation: "c-" + user, Turn: "t", Tokens: userTokens - int64(v.Used) + 1})
		require.NoError(y.t, err)
		held = held || v.InFlight
	}
	return used, held
}

// back starts the server and asks until it knows what it missed. Each question
// is another user's: one user's budget could be spent before that.
func (y *payer) back() {
	y.t.Helper()
	y.srv.Restart()
	n := 0
	require.Eventually(y.t, func() bool {
		n++
		if err := y.ask(fmt.Sprint("other", n), fmt.Sprint("back", n)); err != nil {
			return false
		}
		st, ok := y.parts.Limits()
		return ok && !st.Away && y.parts.UnsyncedSpending() == 0
	}, 4*time.Minute, 20*time.Millisecond)
}

// The server goes away while a question is under way for which it holds room:
// when it is back it is told what that came to, and holds nothing for it.
func TestAwayBetweenHoldAndSpend(t *testing.T) {
	y := newPayer(t, userTokens, "")
	require.NoError(t, y.ask("ann", "1"))
	used, held := y.counted("ann")
	require.Equal(t, [2]int{eachQuestion, eachQuestion}, used)
	require.False(t, held)
	kill := func() { y.srv.Kill() }
	y.during.Store(&kill)
	require.NoError(t, y.ask("ann", "2"))
	y.during.Store(nil)
	y.back()
	used, held = y.counted("ann")
	require.Equal(t, [2]int{2 * eachQuestion, 2 * eachQuestion}, used)
	require.False(t, held, "room for an answer that has come")
	require.NotContains(t, y.log.String(), "can't be counted")
}

// While the server is away models are asked, this process counts, together with
// what it did before, and the log says so. When the server is back it is told
// everything, without a restart, each question once.
func TestModelsWhileAway(t *testing.T) {
	y := newPayer(t, userTokens, "")
	for i := range 3 {
		require.NoError(t, y.ask("ann", fmt.Sprint("before", i)))
	}
	y.srv.Kill()
	for i := range 20 {
		begun := time.Now()
		require.NoError(t, y.ask("ann", fmt.Sprint("away", i)))
		require.Less(t, time.Since(begun), 15*time.Second, "of a question's 20")
	}
	for _, line := range []string{"LIMITS AWAY", "BUDGETS DEGRADED"} {
		require.Contains(t, y.log.String(), line)
	}
	comesBack := func() { // asked while it was away, answered when it is back
		y.during.Store(nil)
		y.back()
	}
	y.during.Store(&comesBack)
	require.NoError(t, y.ask("ann", "between"))
	require.NoError(t, y.ask("ann", "after"))
	used, held := y.counted("ann")
	require.Equal(t, [2]int{25 * eachQuestion, 25 * eachQuestion}, used)
	require.False(t, held)
}

// Who has spent a budget gets no other one when the server goes away.
func TestSpentBudgetStaysSpentWhileAway(t *testing.T) {
	y := newPayer(t, 5400, "") // an answer is bounded to 5000
	ask := func(from int) (n int) {
		for ; n < 50; n++ {
			if err := y.ask("ann", fmt.Sprint(from+n)); err != nil {
				var e *llm.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, [2]string{string(llm.KindBudget), llm.CodeSharedBudget}, [2]string{string(e.Kind), e.Code})
				return n
			}
		}
		return n
	}
	require.Positive(t, ask(0))
	y.srv.Kill()
	require.Zero(t, ask(100))
	require.NoError(t, y.ask("bob", "1"), "somebody else's")
}

// A question that the server held room for without saying so, and that was not
// asked after all, holds nothing once the server is told.
func TestHeldInVain(t *testing.T) {
	y := newPayer(t, 5100, "")
	require.NoError(t, y.ask("ann", "1"))
	answer, err := redistest.Ask(y.srv.Address(), "FLUSHALL") // it knows of nothing that ann has spent
	require.NoError(t, err)
	require.Equal(t, "+OK", answer)
	y.srv.Freeze()
	var e *llm.Error
	require.ErrorAs(t, y.ask("ann", "2"), &e, "this process knows")
	require.Equal(t, llm.CodeSharedBudget, e.Code)
	y.srv.Thaw()
	held := false // what waited for the server while it stood still is done in any order
	for end := time.Now().Add(time.Minute); !held && time.Now().Before(end); {
		_, held = y.counted("ann")
	}
	require.True(t, held, "it did what it had been asked")
	y.back()
	used, held := y.counted("ann")
	require.Zero(t, used)
	require.False(t, held)
}

// Where reads are to stop while the server is away models are not asked.
func TestModelsStopWhileAway(t *testing.T) {
	y := newPayer(t, userTokens, ", when_away: {read: deny}")
	require.NoError(t, y.ask("ann", "1"))
	y.srv.Kill()
	for i := range 5 {
		var e *llm.Error
		require.ErrorAs(t, y.ask("ann", fmt.Sprint("away", i)), &e)
		require.Equal(t, [2]string{string(llm.KindBudget), llm.CodeUncounted}, [2]string{string(e.Kind), e.Code})
	}
	y.back()
	require.NoError(t, y.ask("ann", "2"))
	used, held := y.counted("ann")
	require.Equal(t, [2]int{2 * eachQuestion, 2 * eachQuestion}, used)
	require.False(t, held)
}

// The server is killed and started again under load: every question is
// answered, and what they all came to is counted to the token.
func TestBudgetsUnderLoad(t *testing.T) {
	y := newPayer(t, userTokens, "")
	const askers, questions = 8, 60
	var wg sync.WaitGroup
	var asked atomic.Int64
	reached := func(n int64) {
		require.Eventually(t, func() bool { return asked.Load() >= n }, 4*time.Minute, time.Millisecond)
	}
	errs := make(chan error, askers)
	for a := range askers {
		wg.Go(func() {
			var err error
			for i := range questions {
				err = errors.Join(err, y.ask("ann", fmt.Sprint(a, "-", i)))
				asked.Add(1)
			}
			errs <- err
		})
	}
	reached(30)
	y.srv.Freeze() // a short outage first: what it left untold is told before the next
	reached(60)
	y.srv.Thaw()
	reached(100)
	y.srv.Kill()
	reached(250)
	y.srv.Restart()
	wg.Wait()
	for range askers {
		require.NoError(t, <-errs)
	}
	y.back()
	used, held := y.counted("ann")
	require.Equal(t, [2]int{askers * questions * eachQuestion, askers * questions * eachQuestion}, used)
	require.False(t, held)
}

// What can't be told before the end of the program is told at it.
func TestOwedIsPaidAtTheEnd(t *testing.T) {
	y := newPayer(t, userTokens, "")
	frozen := func() { y.srv.Freeze() }
	y.during.Store(&frozen)
	require.NoError(t, y.ask("ann", "1"))
	y.srv.Thaw()
	require.NoError(t, y.parts.Close())
	used, held := y.counted("ann")
	require.Equal(t, [2]int{eachQuestion, eachQuestion}, used)
	require.False(t, held)
}
