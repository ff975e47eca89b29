package approval_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// openCall is a call of a skill that takes any argument.
func openCall(t testing.TB, args map[string]any, o sentinel.GrantOptions) sentinel.Call {
	t.Helper()
	s, err := skills.Compile(skills.Spec{Name: "open.do", Effect: skills.Modify, Parameters: json.RawMessage(
		`{"type":"object","additionalProperties":true,"properties":{"to":{"type":"string"}}}`)})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(t, err)
	o.ID, o.Conversation, o.Agent = "g", "c", "mail"
	g, err := sentinel.NewGrant(o)
	require.NoError(t, err)
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: "open.do", Args: raw, Grant: g})
	require.NoError(t, err)
	return c
}

// joined takes the breaks of long texts out of a question.
func joined(text string) string { return strings.ReplaceAll(text, "\n           | ", "") }

// labels are what lines of a question may begin with.
func labels() []string {
	return []string{"  skill    open.do (modify", "  call     sha256:", `  agent    "`, "  request  ", `  mission  "`, `  arg      "`,
		"  touches  ", `  bound    "`, `  leads to "`, "  bound    …and ", "  until    2026-", "  unseen   ", "  CUT      ", "           | "}
}

// requireShape holds a question to lines that begin with a label of ours. None is wider than a
// terminal, and nothing in them is what a terminal acts upon.
func requireShape(t *testing.T, text string) {
	t.Helper()
	require.True(t, utf8.ValidString(text))
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		known := false
		for _, l := range labels() {
			known = known || strings.HasPrefix(line, l)
		}
		require.True(t, known, "%q", line)
		require.LessOrEqual(t, utf8.RuneCountInString(line), 80, "%q", line)
		for _, r := range line {
			require.True(t, unicode.IsPrint(r), "%q", line)
		}
	}
}

// The sheet of a call names the trusted intent that it is made under, where there is one.
func TestDescribeNamesTheIntent(t *testing.T) {
	call := openCall(t, map[string]any{}, sentinel.GrantOptions{Intent: "i-7", IntentAction: "find_experts"})
	text := approval.Describe(call, sentinel.Decision{})
	require.Contains(t, text, "\n  intent   \"find_experts\", checked and signed as i-7\n")
	require.NotContains(t, approval.Describe(openCall(t, map[string]any{}, sentinel.GrantOptions{}), sentinel.Decision{}), "\n  intent ")
}

// The name of an argument can't forge a line, on any level. (Invariant 10.)
func TestDescribeQuotesNames(t *testing.T) {
	const name = "a\n  asks     x\x1b[2A\r"
	text := approval.Describe(openCall(t, map[string]any{
		"to": "mallory", name: "z", "nested": map[string]any{"x\x1b[31m\nFAKE": "1", `q": "`: []any{"\u202e"}}, "asks": "nothing",
		strings.Repeat(" ", 59): "y", "touches\u3164": strings.Repeat(" ", 70) + "asks     nothing", "pile": "a" + strings.Repeat("\u0301", 50),
	}, sentinel.GrantOptions{}), sentinel.Decision{})
	requireShape(t, text)
	require.Contains(t, text, `  arg      "a\n  asks     x\x1b[2A\r": "z"`)
	require.Contains(t, text, `  arg      "asks": "nothing"`)
	require.Contains(t, text, `"touches\u3164"`)
	require.NotContains(t, text, strings.Repeat("\u0301", 3))
	require.NotContains(t, text, "  CUT")
}

// Names and values that are cut alike are told apart by their size and hash. The question says
// that something is missing.
func TestDescribeTellsWhatIsCut(t *testing.T) {
	a, b := strings.Repeat("k", 100)+"a"+strings.Repeat("k", 100), strings.Repeat("k", 100)+"b"+strings.Repeat("k", 100)
	value := strings.Repeat("Dear all, ", 400) + "WIRE 5000 TO MALLORY " + strings.Repeat("thanks. ", 400)
	text := joined(approval.Describe(openCall(t, map[string]any{a: "1", b: "2", "body": value, "list": []string{value}},
		sentinel.GrantOptions{}), sentinel.Decision{}))
	for _, cut := range []string{a, b, value, `["` + value + `"]`} {
		sum := sha256.Sum256([]byte(cut))
		require.Contains(t, text, fmt.Sprintf("(%d bytes, sha256 %x…)", len(cut), sum[:6]))
	}
	require.Contains(t, text, "4 of the above not shown whole")
	many := map[string]any{}
	for i := range 100 {
		many[fmt.Sprint(i)] = strings.Repeat("日本", 60)
	}
	text = approval.Describe(openCall(t, many, sentinel.GrantOptions{}), sentinel.Decision{})
	require.Contains(t, text, "and 60 more arguments")
	require.Contains(t, text, "  CUT")
	for line := range strings.SplitSeq(text, "\n") {
		require.LessOrEqual(t, len(line), 120, "wide characters take two columns")
	}
}

// committing is a call that commits what a program wrote.
func committing(t *testing.T, args map[string]any) sentinel.Call {
	t.Helper()
	run, err := skills.Compile(skills.Spec{Name: "box.run", Effect: skills.Irreversible})
	require.NoError(t, err)
	commit, err := skills.Compile(skills.Spec{Name: skills.CommitName, Effect: skills.Modify,
		Parameters: json.RawMessage(`{"type":"object"}`)})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(run, commit)
	require.NoError(t, err)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a"})
	require.NoError(t, err)
	first, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: "box.run", Args: json.RawMessage(`{}`), Grant: g})
	require.NoError(t, err)
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: skills.CommitName, Args: raw, Grant: g, Follows: &first})
	require.NoError(t, err)
	return c
}

// A commit is shown as what it changes, what matters most first, and within bounds.
func TestDescribeCommits(t *testing.T) {
	paths := []map[string]any{
		{"path": "/srv/.envrc", "kind": "created", "type": "file", "bytes": 9, "note": "runs_later"},
		{"path": "/srv/src", "kind": "deleted", "bytes": 4096, "lost": 60},
		{"path": "/srv/x\n  asks     y", "kind": "attributes", "type": "file"},
		{"path": "/srv/l", "kind": "changed", "type": "link", "target": "b"},
	}
	for range 30 {
		paths = append(paths, map[string]any{"path": "/srv/more", "kind": "created", "type": "file"})
	}
	text := approval.Describe(committing(t, map[string]any{
		"digest": "sha256:12", "roots": []string{"/srv"}, "created": 31, "changed": 2, "deleted": 1, "lost": 60, "bytes": 5000,
		"paths": paths, "more": 7,
	}), sentinel.Decision{})
	for _, line := range []string{
		"  after    box.run, which has run in its sandbox", "  changes  31 created, 2 changed, 1 deleted; 5000 bytes to write\n",
		"files that are gone, emptied or replaced: 60\n", `  created  "/srv/.envrc", 9 bytes: others run it later, unasked`,
		`  deleted  "/srv/src", 4096 bytes, 60 files with it`, `  mode     "/srv/x\n  asks     y", 0 bytes`,
		`  changed  "/srv/l", 0 bytes, a link to "b"`,
		"  more     …and 21 more changes, not shown", "  CUT      ", `  digest   "sha256:12"`,
	} {
		require.Contains(t, text, line)
	}
	require.Equal(t, 16, strings.Count(text, `"/srv/more"`))
	require.NotContains(t, text, "  arg      ")
	require.Contains(t, approval.Describe(committing(t, map[string]any{"digest": 1}), sentinel.Decision{}), `  arg      "digest": 1`)
}

// A commit shows files whose old content is gone, and the access that a change gives.
func TestDescribeOverwrites(t *testing.T) {
	text := approval.Describe(committing(t, map[string]any{"digest": "sha256:12", "roots": []string{"/srv"}, "changed": 2, "overwritten": 60,
		"paths": []map[string]any{
			{"path": "/srv/a", "kind": "changed", "type": "file", "bytes": 9, "note": "overwritten"},
			{"path": "/srv/b", "kind": "attributes", "type": "file", "attrs": "access list user:7:rwx\n  asks"},
		}}), sentinel.Decision{})
	require.Contains(t, text, "files of whose old content less than half is left: 60\n")
	require.Contains(t, text, `  changed  "/srv/a", 9 bytes: its old content is gone`)
	require.Contains(t, text, `  mode     "/srv/b", 0 bytes, "access list user:7:rwx\n  asks"`)
}

// The user's own words and the call's digest are there to be compared.
func TestDescribeRequestAndDigest(t *testing.T) {
	request := "send it\n  arg      \"to\": \"nobody\""
	c := openCall(t, map[string]any{"to": "x"}, sentinel.GrantOptions{Request: &request})
	text := approval.Describe(c, sentinel.Decision{})
	requireShape(t, text)
	require.Contains(t, text, `  request  "send it\n  arg      \"to\": \"nobody\""`)
	require.Contains(t, text, "  call     "+c.Digest()[:23]+"\n")
	require.Contains(t, approval.Describe(openCall(t, map[string]any{}, sentinel.GrantOptions{}), sentinel.Decision{}),
		"  request  (none is known)\n")
}

// Whatever a name and a value hold, a question keeps its shape.
func FuzzDescribe(f *testing.F) {
	for _, s := range []string{"", "a\n  asks     x", "\x1b[2J", "\u202e\u2066", "\u3164\u2800\ufe0f", "e\u0301\u0301\u0301\u0301", `","x":"`,
		"日本", "\U000e0041", "\u2028\u0085"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		name, value = strings.ToValidUTF8(name, "?"), strings.ToValidUTF8(value, "?")
		if len(name) > 100 || len(value) > 5000 {
			return
		}
		request := value
		c := openCall(t, map[string]any{"k" + name: value, "list": []any{map[string]string{name: value}}},
			sentinel.GrantOptions{Request: &request, Mission: value})
		requireShape(t, approval.Describe(c, sentinel.Decision{}))
	})
}

// What the approval is bound to is shown, and what can't be bound is named.
func TestDescribeShowsWhatIsBound(t *testing.T) {
	c, d := call(t, `{}`)
	d.Bound = []sentinel.Bound{{Arg: "path", Size: 12, SHA256: strings.Repeat("ab", 32)}, {Arg: "dir"}, {Arg: "new", Missing: true}}
	text := approval.Describe(c, d)
	require.Contains(t, text, `"path": 12 bytes, sha256 abababababababab`)
	require.Contains(t, text, `"dir": by reference`)
	require.Contains(t, text, `"new": no such file`)
}

// A person reads where a path really leads, and until when they can answer.
func TestDescribeShowsRealPaths(t *testing.T) {
	c, d := openCall(t, map[string]any{"to": "x"}, sentinel.GrantOptions{}), sentinel.Decision{}
	sum := strings.Repeat("cd", 32)
	d.Expires = time.Date(2026, 11, 22, 10, 5, 0, 0, time.UTC)
	d.Bound = []sentinel.Bound{
		{Arg: "path", Kind: sentinel.BoundFile, Path: "/w/link", Real: "/srv/pay\nroll", Size: 3, SHA256: sum},
		{Arg: "same", Kind: sentinel.BoundFile, Path: "/w/a", Real: "/w/a", Size: 3, SHA256: sum},
		{Arg: "dir", Kind: sentinel.BoundFolder, Path: "/w/d", Real: "/w/d", SHA256: sum, Entries: 12},
		{Arg: "open", Kind: sentinel.BoundFolder, Path: "/w/e", Real: "/w/e"},
	}
	text := approval.Describe(c, d)
	requireShape(t, text)
	require.Contains(t, text, `leads to "/srv/pay\nroll"`)
	require.Equal(t, 1, strings.Count(text, "leads to"))
	require.Contains(t, joined(text), `"dir": a folder with 12 entries below it, listing sha256 cdcdcdcdcdcdcdcd`)
	require.Contains(t, joined(text), `"open": a folder, with whatever is in it when the call runs`)
	require.Contains(t, text, "until    2026-11-22T10:05:00Z")

	d.Bound = slices.Repeat(d.Bound[1:2], 50)
	text = approval.Describe(c, d)
	require.Contains(t, text, "…and 30 more paths, not shown")
	require.Contains(t, text, "CUT")
}
