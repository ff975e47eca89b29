package orchestrator

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/orchestrator/records/query"
	"github.com/vedette-dev/vedette/orchestrator/records/shown"
	"github.com/vedette-dev/vedette/orchestrator/records/story"
	"github.com/vedette-dev/vedette/orchestrator/replay"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// What a process of an earlier commit left behind when it was killed opens with
// today's code, proves, and is gone on with. testdata/before/README.md says what
// each folder holds and how it was made; a commit that changes what is stored
// adds a folder here.
func TestDatabaseOfEarlierCommit(t *testing.T) {
	for _, name := range []string{"db02346", "b5cdb045", "db02346 archived", "b5cdb045 archived"} {
		t.Run(name, func(t *testing.T) {
			commit, archived, _ := strings.Cut(name, " ")
			r, asked := openEarlier(t, commit, archived != "")
			r.goOn(asked)
		})
	}
}

// earlier is an orchestrator over a copy of an earlier commit's folder.
type earlier struct {
	*rig
	db string
}

// What an earlier commit kept of a call is told by today's code, values included, and is decided again as it was
// under the configuration of then. db02346 kept neither missions nor premises.
func TestEarlierDatabaseIsToldAndReplayed(t *testing.T) {
	dir := copyEarlier(t, "b5cdb045")
	src := sourceOf(dir)
	cfg, err := config.Load(filepath.Join(dir, "vedette.yaml"), config.Options{})
	require.NoError(t, err)
	chosen, err := query.Parse("kind:decision", time.Now())
	require.NoError(t, err)
	o := records.ListOptions{Query: chosen, Limit: 100}
	report, err := replay.Run(t.Context(), replay.Options{Source: src, Chosen: o, Config: cfg, NoReview: true})
	require.NoError(t, err)
	require.Equal(t, 5, report.Calls)
	require.Equal(t, 5, report.Same, "%+v", report)

	told := map[string]story.Values{}
	_, _, err = src.List(t.Context(), o, func(p records.Page) error {
		for _, rec := range p {
			s, err := shown.ReadValues(t.Context(), src, rec.ID, shown.Reader{By: "local:ann", Via: "test"})
			if err != nil {
				return err
			}
			told[s.About.User+" "+s.About.Skill] = s.Values
		}
		return nil
	})
	require.NoError(t, err)
	require.Len(t, told, 5)
	look := told["bob notes.look"]
	require.Equal(t, "look at the notes", look.Mission.Text)
	require.Equal(t, "what is new", look.Request.Text)
	require.JSONEq(t, `{"topic":"news"}`, look.Arguments.Text)
	require.Equal(t, "a note that somebody else wrote", look.Result.Text)
	for call, v := range told {
		for _, value := range []story.Text{v.Mission, v.Request, v.Arguments, v.TouchState, v.Result} {
			require.Equal(t, story.Kept, value.State, call)
		}
	}
}

// sourceOf names what is in such a folder.
func sourceOf(dir string) records.Source {
	return records.Source{Database: filepath.Join(dir, "vedette.sqlite"), Keys: filepath.Join(dir, "keys"),
		PublicKey: filepath.Join(dir, "keys", "ledger.pub")}
}

// copyEarlier copies the folder of a commit, with the permissions that its files had.
func copyEarlier(t *testing.T, commit string) string {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "before", commit))))
	keys, err := filepath.Glob(filepath.Join(dir, "keys", "*.key"))
	require.NoError(t, err)
	for _, private := range append(keys, filepath.Join(dir, "vedette.sqlite")) {
		require.NoError(t, os.Chmod(private, 0o600)) // a checkout has wider ones
	}
	require.NoError(t, os.Chmod(filepath.Join(dir, "keys"), 0o700))
	return dir
}

// openEarlier copies the folder of a commit, proves it offline and starts an
// orchestrator over it. Calls that a person is asked about are approved, and
// told by their ids. Where it is archived before, all goes on in another file.
func openEarlier(t *testing.T, commit string, archived bool) (earlier, chan string) {
	dir := copyEarlier(t, commit)
	if archived {
		_, err := records.ArchiveLedger(t.Context(), sourceOf(dir), "local:ann")
		require.NoError(t, err)
	}
	return startEarlier(t, dir)
}

// startEarlier starts an orchestrator over such a folder.
func startEarlier(t *testing.T, dir string) (earlier, chan string) {
	e := earlier{rig: &rig{t: t, dir: dir, log: &syncBuffer{}}, db: filepath.Join(dir, "vedette.sqlite")}
	e.proveOffline()

	src, err := os.ReadFile(filepath.Join(dir, "script.yaml"))
	require.NoError(t, err)
	script, err := scripted.Load(src)
	require.NoError(t, err)
	e.server, err = scripted.Serve(context.Background(), script, scripted.Options{})
	require.NoError(t, err)
	t.Cleanup(e.server.Close)
	t.Setenv("VEDETTE_BEFORE_MODEL", e.server.BaseURL())
	cfg, err := config.Load(filepath.Join(dir, "vedette.yaml"), config.Options{})
	require.NoError(t, err)
	asked := make(chan string, 4)
	approve := approver(func(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
		asked <- c.Proposed().ID()
		return sentinel.Pass(), nil
	})
	e.Orchestrator, err = New(t.Context(), cfg, Options{Approver: approve, NoReview: true, Log: slog.New(slog.NewTextHandler(e.log, nil))})
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e, asked
}

// goOn finishes what was under way, and proves it all.
func (e earlier) goOn(asked chan string) {
	t, r := e.t, e
	held := r.list(ledger.Query{Kind: sentinel.RecordHeld})
	require.NotEmpty(t, held)
	require.Eventually(t, func() bool { return len(asked) > 0 }, eventually, tick)
	require.Equal(t, held[0].Call, <-asked, "the person is asked about the same call again")
	r.finishEarlier("held", "ann", "the note is kept", "keeper")
	require.Empty(t, asked, "once")
	decided := r.list(ledger.Query{Call: held[0].Call, Kind: sentinel.RecordDecision})
	require.Len(t, decided, 1)
	require.Equal(t, sentinel.Allow.String(), decided[0].Outcome)

	r.finishEarlier("open", "bob", "one note is new", "looker")
	calls := r.list(ledger.Query{Conversation: "open", Skill: "notes.look"})
	kinds := []string{}
	for _, c := range calls {
		kinds = append(kinds, c.Kind)
	}
	require.Equal(t, []string{sentinel.RecordDecision, sentinel.RecordOutcome}, kinds, "its call isn't made a second time")

	r.finishEarlier("tainted", "cat", "it says hello", "reader")
	require.Equal(t, []any{"as I said", true}, r.sendEarlier("tainted", "cat"))
	require.Contains(t, r.lastAsked("once more"), "it says hello", "what was said before is shown to the model")
	r.finishEarlier("finished", "dan", "hello")
	require.Equal(t, []any{"as I said", false}, r.sendEarlier("finished", "dan"))
	require.Contains(t, r.lastAsked("once more"), "say hello")
	for _, id := range []string{"held", "open", "tainted", "finished"} {
		_, err := r.Open(t.Context(), ConversationOptions{ID: id, User: "eve"})
		require.ErrorIs(t, err, ErrRequest, "%s is its user's", id)
	}
	r.proveEarlier()
}

// finishEarlier waits for the end of the conversation's first request.
func (e earlier) finishEarlier(id, user, text string, names ...string) {
	reply, err := e.open(id, user).Reply(e.t.Context(), "r1")
	require.NoError(e.t, err, "%s: %s", id, e.log)
	require.Equal(e.t, text, reply.Text)
	require.Equal(e.t, len(names) > 0, reply.Tainted, "%s: its agent read what others wrote", id)
	for _, name := range names {
		require.Equal(e.t, map[string]agents.State{name: agents.Completed}, states(reply))
	}
}

// sendEarlier sends one more request, and tells the answer's text and taint.
func (e earlier) sendEarlier(id, user string) []any {
	reply, err := e.open(id, user).Send(e.t.Context(), "once more")
	require.NoError(e.t, err)
	return []any{reply.Text, reply.Tainted}
}

// lastAsked is the newest question to the orchestrator's model whose last words
// of the user contain the text, as one string.
func (e earlier) lastAsked(text string) string {
	for _, list := range slices.Backward(e.asked(toolDispatch)) {
		if strings.Contains(list[len(list)-1].Content, text) {
			return fmt.Sprint(list)
		}
	}
	return ""
}

// proveOffline checks the ledger with nothing but the file and the public key.
func (e earlier) proveOffline() {
	public, err := os.ReadFile(filepath.Join(e.dir, "keys", "ledger.pub"))
	require.NoError(e.t, err)
	rep, err := ledger.Verify(context.Background(), e.db, ledger.VerifyOptions{PublicKey: string(public)})
	require.NoError(e.t, err)
	require.Positive(e.t, rep.Records)
	require.Equal(e.t, rep.Records, rep.Proved)
}

// proveEarlier checks the ledger while the orchestrator runs, and after it.
func (e earlier) proveEarlier() {
	e.proveOffline()
	require.NoError(e.t, e.Close(context.Background()))
	e.proveOffline()
}
