package orchestrator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

// The process that purges, and the group of the store in which it is killed:
// even numbers before its commit, odd ones after.
const (
	purgeDir  = "VEDETTE_PURGE_DIR"
	purgeKill = "VEDETTE_PURGE_KILL"
	purgeWho  = "VEDETTE_PURGE_WHO"
)

// Killed at any step of a purge and started again, another user who opens the
// conversation by its id gets nothing of what was said in it, and its own user
// gets all of it, tainted, or nothing. The next start finishes the purge, and
// the ledger tells its begin, its interruption, its end and how much it was.
func TestKilledPurge(t *testing.T) {
	if dir := os.Getenv(purgeDir); dir != "" {
		purgeUntilKilled(t, dir)
		return
	}
	for name, row := range map[string]struct {
		who   history.Who
		every int // how many steps apart it is killed
	}{"a user": {history.Who{User: "ann"}, 1}, "a conversation": {history.Who{Conversation: "c1"}, 3}} {
		t.Run(name, func(t *testing.T) {
			h := newPurgeHouse(t, row.who)
			whole := h.purged(t.TempDir(), "never")
			for n := 0; ; n += row.every {
				dir := t.TempDir()
				if h.kill(dir, n) {
					require.Greater(t, n, 2*5, "begin, two steps over values, one over rows, end")
					return
				}
				h.check(n, dir, whole)
			}
		})
	}
}

// purgeHouse is a folder with a tainted conversation of ann's, and one of bob's.
type purgeHouse struct {
	*rig
	who  history.Who
	opts options
}

func newPurgeHouse(t *testing.T, who history.Who) *purgeHouse {
	o := with(outside(t))
	o.config = "keys: {dir: ./keys}\n"
	r := start(t, o,
		orch("secret", dispatch("a", "do-a", "web.read"), results("wait_all"), "CANARY"),
		agent("do-a", use("web.read", "x"), "ok"), orch("hello", "hi"))
	about := history.Turn{Conversation: "c1", User: "ann", Turn: "filling"}
	items := make([]history.Item, 600) // so that values are erased in several steps, what was said last of all
	for i := range items {
		items[i] = history.Item{Kind: "filling", Data: []byte("x")}
	}
	require.NoError(t, r.journal.Begin(t.Context(), about, items...))
	require.NoError(t, r.journal.End(t.Context(), about))
	for id, user := range map[string]string{"c1": "ann", "c2": "bob"} {
		reply, err := r.open(id, user).SendRequest(t.Context(), Request{ID: "r1", Text: "secret"})
		require.NoError(t, err)
		require.True(t, reply.Tainted)
	}
	require.NoError(t, r.Close(context.Background()))
	return &purgeHouse{r, who, o}
}

// kill purges in a copy of the house, in a process that is killed in the n-th
// step, and reports whether it had finished before.
func (h *purgeHouse) kill(dir string, n int) (finished bool) {
	out := h.purgeIn(dir, fmt.Sprint(n))
	return strings.Contains(out, "finished")
}

func (h *purgeHouse) purgeIn(dir, step string) string {
	require.NoError(h.t, os.CopyFS(dir, os.DirFS(h.dir)))
	require.NoError(h.t, os.Chmod(filepath.Join(dir, "keys"), 0o700))
	keys, err := filepath.Glob(filepath.Join(dir, "keys", "*.key"))
	require.NoError(h.t, err)
	for _, k := range append(keys, filepath.Join(dir, "v.db")) {
		require.NoError(h.t, os.Chmod(k, 0o600))
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledPurge$")
	cmd.Env = append(os.Environ(), purgeDir+"="+dir, purgeKill+"="+step, purgeWho+"="+h.who.User+"/"+h.who.Conversation)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if strings.Contains(out.String(), "finished") {
		require.NoError(h.t, err, out.String())
		return out.String()
	}
	var exit *exec.ExitError
	require.ErrorAs(h.t, err, &exit)
	require.Equal(h.t, -1, exit.ExitCode(), "it was not killed: %s", &out)
	return out.String()
}

// purged purges in a copy of the house and returns how much it was.
func (h *purgeHouse) purged(dir, step string) (p history.Purged) {
	out := h.purgeIn(dir, step)
	_, line, ok := strings.Cut(out, "finished ")
	require.True(h.t, ok, out)
	require.NoError(h.t, json.NewDecoder(strings.NewReader(line)).Decode(&p))
	require.Greater(h.t, p.Values, 600)
	require.Equal(h.t, 1, p.Conversations)
	return p
}

// purgeUntilKilled is the process: it purges as vedette journal purge does.
func purgeUntilKilled(t *testing.T, dir string) {
	ctx := t.Context()
	k, err := keys.LoadOrCreate(filepath.Join(dir, "keys"))
	require.NoError(t, err)
	st, err := store.Open(ctx, store.Options{Path: filepath.Join(dir, "v.db")})
	require.NoError(t, err)
	signer, err := ledger.NewSigner(k.Ledger())
	require.NoError(t, err)
	l, err := ledger.Open(ctx, st, signer, ledger.Options{})
	require.NoError(t, err)
	jr, err := journal.Open(ctx, st, journal.SingleKey(k.Journal()), journal.Options{})
	require.NoError(t, err)
	h, err := history.Open(ctx, st, jr, history.Options{Ledger: l})
	require.NoError(t, err)
	killAtStep(st, os.Getenv(purgeKill))
	user, conversation, _ := strings.Cut(os.Getenv(purgeWho), "/")
	p, err := h.Purge(ctx, history.Who{User: user, Conversation: conversation}, "operator")
	require.NoError(t, err)
	b, err := json.Marshal(p)
	require.NoError(t, err)
	fmt.Printf("\nfinished %s\n", b)
	require.NoError(t, st.Close())
}

// killAtStep kills this process in the n-th half step of the store from now on.
func killAtStep(st *store.Store, n string) {
	self, _ := os.FindProcess(os.Getpid())
	steps := 0
	step := func() {
		if fmt.Sprint(steps) == n {
			_ = self.Kill()
			select {}
		}
		steps++
	}
	st.OnSeal(func(*store.Tx) error { step(); return nil })
	st.OnCommit(step)
}

// check starts over what the killed process left, once for each of the users.
func (h *purgeHouse) check(n int, dir string, whole history.Purged) {
	t := h.t
	other := t.TempDir()
	require.NoError(t, os.CopyFS(other, os.DirFS(dir)))
	r := h.over(dir)
	said, tainted, err := r.saidTo("c1", "eve")
	require.NotContains(t, said, "CANARY", "step %d: another user was shown it", n)
	if err == nil {
		require.False(t, tainted, "step %d", n)
		_, err = r.open("c1", "eve").Reply(t.Context(), "r1")
	}
	require.ErrorIs(t, err, ErrRequest, "step %d", n)
	said, tainted, err = r.saidTo("c2", "bob")
	require.NoError(t, err)
	require.True(t, tainted)
	require.Contains(t, said, "CANARY", "step %d: what is another's is all there", n)
	h.checkRecords(r, n, whole)
	r.restart(h.opts)
	said, _, _ = r.saidTo("c1", "eve")
	require.NotContains(t, said, "CANARY", "step %d: the next life shows it", n)
	r.verify()

	r = h.over(other)
	said, tainted, err = r.saidTo("c1", "ann")
	require.NoError(t, err, "step %d", n)
	require.Equal(t, strings.Contains(said, "CANARY"), tainted, "step %d: all of it, tainted, or nothing", n)
	r.verify()
}

// checkRecords holds the purge's records against the step it was killed in.
func (h *purgeHouse) checkRecords(r *rig, n int, whole history.Purged) {
	list := r.list(ledger.Query{Kind: sentinel.RecordPurge})
	var steps []string
	for _, rec := range list {
		steps = append(steps, rec.Outcome)
		require.Equal(h.t, []string{h.who.User, h.who.Conversation}, []string{rec.User, rec.Conversation})
		require.Contains(h.t, string(rec.Body), `"by":"operator"`)
	}
	begun := []string{history.PurgeBegun, history.PurgeResumed, history.PurgeEnded}
	switch len(steps) {
	case 0:
		require.Zero(h.t, n, "it was killed before it had begun")
		return
	case 2: // its end was durable, and no caller was told
		begun = []string{history.PurgeBegun, history.PurgeEnded}
	}
	require.Equal(h.t, begun, steps, "step %d", n)
	var got history.Purged
	require.NoError(h.t, json.Unmarshal(list[len(list)-1].Body, &got))
	require.Equal(h.t, whole, got, "step %d: how much it was, over both lives", n)
}

// over starts an orchestrator over the folder.
func (h *purgeHouse) over(dir string) *rig {
	require.NoError(h.t, os.Chmod(filepath.Join(dir, "keys"), 0o700))
	keys, err := filepath.Glob(filepath.Join(dir, "keys", "*.key"))
	require.NoError(h.t, err)
	for _, k := range append(keys, filepath.Join(dir, "v.db")) {
		require.NoError(h.t, os.Chmod(k, 0o600))
	}
	r := &rig{t: h.t, dir: dir, log: &syncBuffer{}, server: h.server}
	r.boot(h.opts)
	return r
}

// saidTo sends one more request and returns what its model was shown with it.
func (r *rig) saidTo(id, user string) (said string, tainted bool, err error) {
	c, err := r.Open(r.t.Context(), ConversationOptions{ID: id, User: user})
	if err != nil {
		return "", false, err
	}
	reply, err := c.Send(r.t.Context(), "hello")
	if err != nil {
		return "", false, err
	}
	asked := r.asked(toolDispatch)
	return fmt.Sprint(asked[len(asked)-1]), reply.Tainted, nil
}
