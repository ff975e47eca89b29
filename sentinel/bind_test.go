package sentinel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// boundBench is a checkpoint over a folder of its own, where the skill names
// paths, a person is asked about every call, and change happens meanwhile.
type boundBench struct {
	*bench
	root     string
	spec     skills.Spec
	approved []sentinel.Bound // what the person was shown
}

// place puts a path below the bench's folder.
func (b *boundBench) place(name string) string { return filepath.Join(b.root, name) }

func newBoundBench(t *testing.T, e skills.Effect, byReference bool, change func(*boundBench)) *boundBench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	b := &boundBench{root: root}
	b.spec = skills.Spec{
		Name: "test.do", Effect: e, Reaches: skills.Others, ByReference: byReference,
		Parameters: json.RawMessage(`{"type":"object","properties":{"paths":{"type":"array","items":{"type":"string","x-path":true}}}}`),
	}
	b.bench = newBenchFor(t, b.spec, func(o *sentinel.Options, _ *bench) {
		o.Env = touch.Env{Root: root}
		o.Approver = approver(func(_ context.Context, _ sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
			b.approved = d.Bound
			if change != nil {
				change(b)
			}
			return sentinel.Pass(), nil
		})
	}, says("judge", outcome(sentinel.Ask, "judge.ask")))
	return b
}

func (b *boundBench) invoke(t *testing.T, names ...string) error {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"paths": names})
	require.NoError(t, err)
	_, err = b.Desk(grant(t)).Invoke(t.Context(), "test.do", raw)
	return err
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// boundChanges are what can become of a path while a person thinks. Where, of
// the effects, says in which the call is still the one that was approved.
func boundChanges(t *testing.T) map[string]struct {
	path   string
	change func(*boundBench)
	still  func(skills.Effect) bool // the call runs all the same
} {
	t.Helper()
	never := func(skills.Effect) bool { return false }
	always := func(skills.Effect) bool { return true }
	ok := func(err error) { require.NoError(t, err) }
	return map[string]struct {
		path   string
		change func(*boundBench)
		still  func(skills.Effect) bool
	}{
		"nothing happens":                        {"file", func(*boundBench) {}, always},
		"a file is rewritten":                    {"file", func(b *boundBench) { write(t, b.place("file"), "OTHER") }, never},
		"a file is rewritten, as long as before": {"file", func(b *boundBench) { write(t, b.place("file"), "SHOWN") }, never},
		"a file is swapped for one that holds the same": {"file", func(b *boundBench) {
			write(t, b.place("new"), "shown")
			ok(os.Rename(b.place("new"), b.place("file")))
		}, never},
		"a file is touched": {"file", func(b *boundBench) { ok(os.Chmod(b.place("file"), 0o640)) }, always},
		"a file vanishes":   {"file", func(b *boundBench) { ok(os.Remove(b.place("file"))) }, never},
		"a file appears":    {"dir/none", func(b *boundBench) { write(t, b.place("dir/none"), "x") }, never},
		"a file turns into a link to itself": {"file", func(b *boundBench) {
			ok(os.Rename(b.place("file"), b.place("moved")))
			ok(os.Symlink(b.place("moved"), b.place("file")))
		}, never},
		"a link is turned": {"link", func(b *boundBench) {
			ok(os.Remove(b.place("link")))
			ok(os.Symlink(b.place("same"), b.place("link")))
		}, never},
		"a link above is turned": {"way/none", func(b *boundBench) {
			ok(os.Remove(b.place("way")))
			ok(os.Symlink(b.place("dir"), b.place("way")))
		}, never},
		"the folder above is replaced": {"dir/none", func(b *boundBench) {
			ok(os.Rename(b.place("dir"), b.place("old")))
			ok(os.Mkdir(b.place("dir"), 0o700))
		}, never},
		"another file appears beside": {"dir/none", func(b *boundBench) { write(t, b.place("dir/other"), "x") }, always},
		"a folder is replaced": {"dir", func(b *boundBench) {
			ok(os.Rename(b.place("dir"), b.place("old")))
			write(t, b.place("dir/in"), "in")
		}, never},
		"a folder turns into a file": {"dir", func(b *boundBench) {
			ok(os.RemoveAll(b.place("dir")))
			write(t, b.place("dir"), "x")
		}, never},
		"something appears in a folder": {"dir", func(b *boundBench) { write(t, b.place("dir/new"), "x") },
			func(e skills.Effect) bool { return e != skills.Irreversible }},
		"a file far below a folder is rewritten": {"dir", func(b *boundBench) { write(t, b.place("dir/deep/er"), "longer") },
			func(e skills.Effect) bool { return e != skills.Irreversible }},
	}
}

// fill makes what the changes are about.
func (b *boundBench) fill(t *testing.T) {
	t.Helper()
	write(t, b.place("file"), "shown")
	write(t, b.place("same"), "shown")
	write(t, b.place("dir/in"), "in")
	write(t, b.place("dir/deep/er"), "er")
	require.NoError(t, os.Mkdir(b.place("else"), 0o700))
	require.NoError(t, os.Symlink(b.place("file"), b.place("link")))
	require.NoError(t, os.Symlink(b.place("else"), b.place("way")))
}

// What a person approved is what the call meets, whatever it does: after the
// answer, at the last moment before its decision is durable, and in its skill's
// queue.
func TestWhatWasApprovedIsWhatRuns(t *testing.T) {
	for name, tc := range boundChanges(t) {
		for _, e := range skills.Effects() {
			for _, when := range []string{"while a person thinks", "as the decision is written", "in the queue"} {
				t.Run(fmt.Sprintf("%s/%s/%s", name, e, when), func(t *testing.T) {
					b := newBoundBench(t, e, false, nil)
					if when == "while a person thinks" {
						b = newBoundBench(t, e, false, tc.change)
					}
					b.fill(t)
					still := tc.still(e)
					switch when {
					case "as the decision is written":
						once := true
						b.rec.before = func(r sentinel.Record) {
							if r.Kind == sentinel.RecordDecision && once {
								once = false
								tc.change(b)
							}
						}
					case "in the queue":
						b.rec.onWrite = func(r sentinel.Record) {
							if r.Kind == sentinel.RecordDecision {
								tc.change(b)
							}
						}
					}
					if when != "while a person thinks" { // the times count
						still = still && name != "a file is touched"
					}
					err := b.invoke(t, tc.path)
					require.Len(t, b.approved, 1)
					if still {
						require.NoError(t, err)
						require.Len(t, b.runs(), 1)
						return
					}
					// What writes decisions reads no folder: that is found right before the call starts.
					requireChanged(t, b, err, when == "in the queue" || when != "while a person thinks" && strings.Contains(name, "far below"))
				})
			}
		}
	}
}

// requireChanged holds the end of a call to what was on record of it.
func requireChanged(t *testing.T, b *boundBench, err error, started bool) {
	t.Helper()
	require.Empty(t, b.runs())
	last := b.rec.records[len(b.rec.records)-1]
	if started {
		require.ErrorIs(t, err, skills.ErrChanged)
		require.Equal(t, []string{"held", "decision", "outcome"}, b.rec.kinds())
		require.Equal(t, []string{sentinel.StatusFailed, skills.FailNotStarted}, []string{last.Outcome, last.Code})
		require.Equal(t, []bool{true}, b.lim.reported, "it says nothing about the skill")
		return
	}
	require.Equal(t, "approval.changed", refusalOf(t, err).Code)
	require.Equal(t, []string{"held", "decision"}, b.rec.kinds())
	require.Equal(t, []string{"deny", "approval", "approval.changed", ""}, []string{last.Outcome, last.Gate, last.Code, last.Spend})
}

// What can't be bound can't be approved: no person is asked, and the refusal says
// why. A skill that is by_reference is asked about, and the person is told.
// The time for it is the bubble's, which stands still while files are read.
func TestWhatCantBeBoundCantBeApproved(t *testing.T) {
	for name, tc := range map[string]struct {
		make func(*testing.T, *boundBench) []string
		says string
	}{
		"a FIFO": {func(t *testing.T, b *boundBench) []string {
			makeFIFO(t, b.place("pipe"))
			return []string{"pipe"}
		}, "neither a plain file nor a folder"},
		"a link to a FIFO": {func(t *testing.T, b *boundBench) []string {
			makeFIFO(t, b.place("pipe"))
			require.NoError(t, os.Symlink(b.place("pipe"), b.place("link")))
			return []string{"link"}
		}, "neither a plain file nor a folder"},
		"a device": {func(*testing.T, *boundBench) []string { return []string{"/dev/null"} }, "neither a plain file nor a folder"},
		"a link that leads to itself": {func(t *testing.T, b *boundBench) []string {
			require.NoError(t, os.Symlink(b.place("loop"), b.place("loop")))
			return []string{"loop"}
		}, "neither a plain file nor a folder"},
		"the 1000th path": {func(t *testing.T, b *boundBench) []string {
			var names []string
			for i := range 1000 {
				names = append(names, fmt.Sprintf("f%03d", i))
			}
			return names
		}, "more than 256 paths"},
		"a huge file": {func(t *testing.T, b *boundBench) []string {
			write(t, b.place("huge"), "")
			require.NoError(t, os.Truncate(b.place("huge"), 64<<20+1))
			return []string{"huge"}
		}, "67108865 bytes"},
		"huge files together": {func(t *testing.T, b *boundBench) []string {
			write(t, b.place("huge"), "")
			require.NoError(t, os.Truncate(b.place("huge"), 64<<20))
			write(t, b.place("one more"), "x")
			return []string{"huge", "huge", "huge", "huge", "one more"}
		}, "more than 268435456 bytes"},
		"a path that is read in two ways": {func(*testing.T, *boundBench) []string { return []string{"https://example.com/a"} },
			"more than one path"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { requireUnbindable(t, tc.make, tc.says) })
		})
	}
}

// requireUnbindable makes a call about paths that can't be bound, and one by reference.
func requireUnbindable(t *testing.T, place func(*testing.T, *boundBench) []string, says string) {
	t.Helper()
	b := newBoundBench(t, skills.CostsMoney, false, nil)
	names := place(t, b)
	err := b.invoke(t, names...)
	r := refusalOf(t, err)
	require.Equal(t, []string{sentinel.CodeApprovalUnbindable, skills.KindAskDenied}, []string{r.Code, r.Kind})
	require.Contains(t, r.Reason, says)
	require.NotContains(t, r.Reason, b.root)
	require.Empty(t, b.approved, "no person is asked")
	require.Equal(t, []string{"decision"}, b.rec.kinds())
	require.Empty(t, b.runs())

	b = newBoundBench(t, skills.CostsMoney, true, nil)
	require.NoError(t, b.invoke(t, place(t, b)...))
	require.Len(t, b.runs(), 1)
	for _, bound := range b.approved {
		require.Equal(t, sentinel.BoundReference, bound.Kind)
		require.Contains(t, bound.String(), "by reference")
	}
}

// A folder that is removed is bound with all that is in it, and one with more
// than can be listed can't be approved; where it is only named it can.
// The time for it is the bubble's, which stands still while files are read.
func TestFoldersBeyondTheListing(t *testing.T) {
	for n, code := range map[int]string{9: "", 10_000: sentinel.CodeApprovalUnbindable} {
		synctest.Test(t, func(t *testing.T) {
			b := newBoundBench(t, skills.Irreversible, false, nil)
			require.NoError(t, os.Mkdir(b.place("dir"), 0o700))
			write(t, b.place("dir/sub/one"), "") // two entries
			for i := range n - 1 {
				require.NoError(t, os.Symlink("x", b.place(fmt.Sprintf("dir/%05d", i))))
			}
			err := b.invoke(t, "dir")
			if code == "" {
				require.NoError(t, err)
				require.Equal(t, 10, b.approved[0].Entries)
				return
			}
			require.Equal(t, code, refusalOf(t, err).Code)
			require.Contains(t, refusalOf(t, err).Reason, "more than 10000 entries")
		})
	}
}

// Every path is bound, also beyond sixteen; one that no schema declares is not.
func TestEveryDeclaredPathIsBound(t *testing.T) {
	var names []string
	b := newBoundBench(t, skills.Read, false, func(b *boundBench) { write(t, b.place("f17"), "changed") })
	for i := range 18 {
		names = append(names, fmt.Sprintf("f%02d", i))
		write(t, b.place(names[i]), "x")
	}
	require.Equal(t, "approval.changed", refusalOf(t, b.invoke(t, names...)).Code)
	require.Len(t, b.approved, 18)

	plain := newBenchFor(t, skills.Spec{
		Name: "test.do", Effect: skills.Read, Parameters: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`),
	}, func(o *sentinel.Options, _ *bench) {
		o.Env = touch.Env{Root: b.root}
		o.Approver = approver(func(_ context.Context, _ sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
			require.Empty(t, d.Bound)
			write(t, b.place("f00"), "changed")
			return sentinel.Pass(), nil
		})
	}, says("judge", outcome(sentinel.Ask, "judge.ask")))
	_, err := plain.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{"text":"./f00"}`))
	require.NoError(t, err)
}

// The ledger holds no path and no plain digest of what is bound; a file can be
// found again in it by those who have the key alone.
func TestBoundOnRecord(t *testing.T) {
	b := newBoundBench(t, skills.Modify, false, nil)
	write(t, b.place("CANARY"), "shown")
	require.NoError(t, b.invoke(t, "CANARY", "none"))
	sum := b.approved[0].SHA256
	require.Len(t, sum, 64)
	for _, r := range b.rec.records[:2] {
		body := string(r.Body)
		require.NotContains(t, body, sum)
		require.NotContains(t, body, "CANARY")
		require.NotContains(t, body, b.root)
		var got struct {
			Bound []struct {
				Arg, Kind, SHA256, Real string
				Size                    int64
				Missing                 bool
			} `json:"bound"`
		}
		require.NoError(t, json.Unmarshal(r.Body, &got))
		require.Len(t, got.Bound, 2)
		require.Equal(t, []any{"paths", "file", int64(5), false},
			[]any{got.Bound[0].Arg, got.Bound[0].Kind, got.Bound[0].Size, got.Bound[0].Missing})
		require.True(t, strings.HasPrefix(got.Bound[0].SHA256, "hmac:"), got.Bound[0].SHA256)
		require.True(t, strings.HasPrefix(got.Bound[0].Real, "hmac:"), got.Bound[0].Real)
		require.True(t, got.Bound[1].Missing)
		require.Empty(t, got.Bound[1].SHA256)
	}
}

// What a person was shown before a restart is what is asked about after it. The
// question keeps its id, so an answer to the one may be taken for one to the
// other: where a file has changed meanwhile, the call ends.
func TestWhatWasHeldIsWhatIsAskedAgain(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*testing.T, *boundBench)
		strip  bool // the record is of a version that bound other things
		code   string
	}{
		"nothing happens":      {func(*testing.T, *boundBench) {}, false, ""},
		"a file is rewritten":  {func(t *testing.T, b *boundBench) { write(t, b.place("file"), "OTHER") }, false, "approval.changed"},
		"a link is turned":     {func(t *testing.T, b *boundBench) { turn(t, b.place("link"), b.place("same")) }, false, "approval.changed"},
		"a file appears":       {func(t *testing.T, b *boundBench) { write(t, b.place("none"), "x") }, false, "approval.changed"},
		"of an older version":  {func(t *testing.T, b *boundBench) { write(t, b.place("file"), "OTHER") }, true, ""},
		"times alone changed":  {func(t *testing.T, b *boundBench) { require.NoError(t, os.Chmod(b.place("file"), 0o640)) }, false, ""},
		"another file changed": {func(t *testing.T, b *boundBench) { write(t, b.place("same"), "x") }, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b, asked := newBoundBench(t, skills.CostsMoney, false, nil), 0
			b.fill(t)
			propose := func(ctx context.Context, answer func() (sentinel.Verdict, error)) error {
				next := newBenchFor(t, b.spec, func(o *sentinel.Options, n *bench) {
					n.rec, o.Recorder, o.History, o.Env = b.rec, b.rec, memory{b.rec}, touch.Env{Root: b.root}
					o.Approver = approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
						asked++
						return answer()
					})
				}, says("judge", outcome(sentinel.Ask, "judge.ask")))
				return next.again(ctx, t, `{"paths":["file","link","none"]}`)
			}
			ctx, leave := context.WithCancel(t.Context())
			require.ErrorIs(t, propose(ctx, func() (sentinel.Verdict, error) {
				leave()
				return sentinel.Verdict{}, ctx.Err()
			}), sentinel.ErrHeld)
			if row.strip {
				b.rec.records[0].Body = without(t, b.rec.records[0].Body, "asked_at", "expires_at", "bound")
			}
			row.change(t, b)
			err := propose(t.Context(), func() (sentinel.Verdict, error) { return sentinel.Pass(), nil })
			if row.code == "" {
				require.NoError(t, err)
				require.Equal(t, 2, asked)
				return
			}
			require.Equal(t, row.code, refusalOf(t, err).Code)
			require.Equal(t, 1, asked, "no person is asked about another thing under that id")
			require.Equal(t, []string{"held", "decision"}, b.rec.kinds())
		})
	}
}

// turn makes a link lead elsewhere.
func turn(t *testing.T, link, to string) {
	t.Helper()
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(to, link))
}
