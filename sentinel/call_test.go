package sentinel_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

func registry(t testing.TB) *skills.Registry {
	t.Helper()
	s, err := skills.Compile(skills.Spec{Name: "test.do", Effect: skills.Modify,
		Parameters: json.RawMessage(`{"type":"object","additionalProperties":true}`)})
	require.NoError(t, err)
	r, err := skills.NewRegistry(s)
	require.NoError(t, err)
	return r
}

// What two parsers might read differently is no call.
func TestNewCallRefusesAmbiguity(t *testing.T) {
	reg := registry(t)
	for _, tc := range []struct{ name, args, code string }{
		{"duplicate key", `{"a":1,"a":2}`, sentinel.CodeDuplicate},
		{"duplicate key in another spelling", `{"a":1,"\u0061":2}`, sentinel.CodeDuplicate},
		{"duplicate key deep down", `{"x":[{"a":1,"a":2}]}`, sentinel.CodeDuplicate},
		{"keys that differ in case", `{"path":"ok","PATH":"evil"}`, sentinel.CodeFolded},
		{"keys that differ in case of another script", `{"ſ":1,"s":2}`, sentinel.CodeFolded},
		{"number beyond 2^53", `{"n":9007199254740993}`, sentinel.CodeNumber},
		{"negative beyond 2^53", `{"n":-9007199254740993}`, sentinel.CodeNumber},
		{"rounds to 2^53", `{"n":9007199254740992.5}`, sentinel.CodeNumber},
		{"too large for a float", `{"n":1e400}`, sentinel.CodeNumber},
		{"many digits", `{"n":` + strings.Repeat("9", 500) + `}`, sentinel.CodeNumber},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", sentinel.CodeUTF8},
		{"lone surrogate", `{"a":"\ud800"}`, sentinel.CodeSyntax},
		{"no object", `[1]`, sentinel.CodeNotObject},
		{"null", `null`, sentinel.CodeNotObject},
		{"text", `"x"`, sentinel.CodeNotObject},
		{"two values", `{} {}`, sentinel.CodeSyntax},
		{"cut off", `{"a":`, sentinel.CodeSyntax},
		{"trailing comma", `{"a":1,}`, sentinel.CodeSyntax},
		{"comment", `{/*x*/"a":1}`, sentinel.CodeSyntax},
		{"NaN", `{"a":NaN}`, sentinel.CodeSyntax},
		{"10,000 levels", strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000), sentinel.CodeTooDeep},
		{"10 MB", `{"a":"` + strings.Repeat("x", 10<<20) + `"}`, sentinel.CodeTooLarge},
		{"too many keys", manyKeys(sentinel.MaxKeys + 1), sentinel.CodeTooMany},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := sentinel.NewCall(reg, touch.Env{}, sentinel.Proposal{Skill: "test.do", Args: []byte(tc.args), Grant: grant(t)})
			var ce *sentinel.CallError
			require.ErrorAs(t, err, &ce)
			require.Equal(t, tc.code, ce.Code)
		})
	}
}

func manyKeys(n int) string {
	m := map[string]int{}
	for i := range n {
		m["k"+string(rune('a'+i%26))+strings.Repeat("x", i/26%40)+time.Duration(i).String()] = i
	}
	b, _ := json.Marshal(m)
	return string(b)
}

// What is a call is canonical: spelling, order and white space are gone.
func TestNewCallIsCanonical(t *testing.T) {
	reg := registry(t)
	mk := func(args string) sentinel.Call {
		c, err := sentinel.NewCall(reg, touch.Env{}, sentinel.Proposal{Skill: "test.do", Args: []byte(args), Grant: grant(t)})
		require.NoError(t, err)
		return c
	}
	a, b := mk(`{"b":1.0,"a":"\u0078"}`), mk(" {\"a\": \"x\",\n\"b\":1}")
	require.Equal(t, `{"a":"x","b":1}`, a.Args())
	require.Equal(t, a.Digest(), b.Digest())
	require.NotEqual(t, a.ID(), b.ID())
	require.NotEqual(t, a.Digest(), mk(`{"a":"y","b":1}`).Digest())
	require.Equal(t, `{}`, mk("").Args(), "no arguments at all")
	require.Equal(t, `{"n":9007199254740992}`, mk(`{"n":9007199254740992}`).Args())
	require.Equal(t, a.Digest(), a.Order().Digest())
}

// Whatever is accepted is read the same way again. (Encode, then decode, is
// the identity.)
func FuzzNewCall(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, `{"a":{"b":[1,2,"x"]}}`, `{"a":1e3}`, `{"":0}`, `[`, `{"a":-0}`, `{"a":"\u2028"}`,
		"{\"a\":\"\x00\"}", `{"a":1E-7}`} {
		f.Add([]byte(s))
	}
	s, err := skills.Compile(skills.Spec{Name: "test.do", Effect: skills.Modify,
		Parameters: json.RawMessage(`{"type":"object","additionalProperties":true}`)})
	if err != nil {
		f.Fatal(err)
	}
	reg, err := skills.NewRegistry(s)
	if err != nil {
		f.Fatal(err)
	}
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: "test.do", Args: raw, Grant: g})
		if err != nil {
			return
		}
		again, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: "test.do", Args: []byte(c.Args()), Grant: g})
		require.NoError(t, err)
		require.Equal(t, c.Args(), again.Args())
		require.Equal(t, c.Digest(), again.Digest())
		require.Equal(t, c.Parsed(), again.Parsed())
	})
}

func scope(t testing.TB, names ...string) skills.Scope {
	t.Helper()
	s, err := skills.NewScope(names...)
	require.NoError(t, err)
	return s
}

// A child's grant is never wider than its parent's. (Invariant 9.)
func TestNarrow(t *testing.T) {
	now := time.Now()
	parent, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: "p", User: "u", Conversation: "c", Turn: "t", Agent: "orchestrator", Scope: scope(t, "email.*", "files.read"),
		Calls: 10, Deadline: now,
	})
	require.NoError(t, err)
	ok := sentinel.Child{ID: "k", Agent: "a", Scope: scope(t, "email.read"), Calls: 5, Deadline: now}
	child, err := parent.Narrow(ok)
	require.NoError(t, err)
	require.Equal(t, "u", child.User())
	require.Equal(t, "c", child.Conversation())
	for name, change := range map[string]func(*sentinel.Child){
		"skill":         func(c *sentinel.Child) { c.Scope = scope(t, "files.write") },
		"domain":        func(c *sentinel.Child) { c.Scope = scope(t, "files.*") },
		"calls":         func(c *sentinel.Child) { c.Calls = 11 },
		"no call limit": func(c *sentinel.Child) { c.Calls = 0 },
		"deadline":      func(c *sentinel.Child) { c.Deadline = now.Add(time.Nanosecond) },
	} {
		c := ok
		change(&c)
		_, err := parent.Narrow(c)
		require.ErrorIs(t, err, sentinel.ErrWider, name)
	}
	_, err = parent.Narrow(sentinel.Child{ID: "", Agent: "a", Scope: scope(t, "email.read"), Calls: 1})
	require.Error(t, err, "a call that can't be attributed can't be made")

	without := ok
	without.Deadline = time.Time{}
	child, err = parent.Narrow(without)
	require.NoError(t, err)
	require.Equal(t, now, child.Deadline(), "a child that names none has its parent's")
	earlier := ok
	earlier.Deadline = now.Add(-time.Second)
	child, err = parent.Narrow(earlier)
	require.NoError(t, err)
	require.Equal(t, earlier.Deadline, child.Deadline())
}

// Taint goes down and never away, and a mission written under it is marked.
func TestTaintIsInherited(t *testing.T) {
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "p", Conversation: "c", Agent: "o", Scope: scope(t, "email.*")})
	require.NoError(t, err)
	clean, err := g.Narrow(sentinel.Child{ID: "k", Agent: "a", Scope: scope(t, "email.read")})
	require.NoError(t, err)
	require.False(t, clean.Tainted())
	require.False(t, clean.MissionTainted())
	child, err := g.Taint().Narrow(sentinel.Child{ID: "k", Agent: "a", Scope: scope(t, "email.read")})
	require.NoError(t, err)
	require.True(t, child.Tainted())
	require.True(t, child.MissionTainted())
	grand, err := child.Narrow(sentinel.Child{ID: "kk", Agent: "b", Scope: scope(t, "email.read")})
	require.NoError(t, err)
	require.True(t, grand.Tainted())
	require.True(t, grand.MissionTainted())
}

// However grants are narrowed, no descendant may do what its ancestor may not.
func TestNarrowNeverWidens(t *testing.T) {
	names := []string{"a.x", "a.y", "b.x", "b.y"}
	entry := rapid.SampledFrom([]string{"a.*", "b.*", "a.x", "a.y", "b.x"})
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(l string) skills.Scope { return scope(t, rapid.SliceOf(entry).Draw(rt, l)...) }
		began := time.Unix(1_700_000_000, 0)
		root := sentinel.GrantOptions{ID: "0", Conversation: "c", Agent: "a", Scope: draw("root"), Calls: 8, Deadline: began.Add(8 * time.Second)}
		g, err := sentinel.NewGrant(root)
		require.NoError(t, err)
		for range rapid.IntRange(1, 5).Draw(rt, "depth") {
			k := sentinel.Child{ID: "1", Agent: "a", Scope: draw("child"), Calls: rapid.IntRange(0, 9).Draw(rt, "calls")}
			if s := rapid.IntRange(0, 9).Draw(rt, "seconds"); s > 0 { // 0: none is named
				k.Deadline = began.Add(time.Duration(s) * time.Second)
			}
			c, err := g.Narrow(k)
			if err != nil {
				require.ErrorIs(t, err, sentinel.ErrWider)
				continue
			}
			for _, n := range names {
				require.False(t, c.Scope().Allows(n) && !g.Scope().Allows(n), n)
			}
			require.LessOrEqual(t, c.Calls(), g.Calls())
			require.Positive(t, c.Calls())
			require.False(t, c.Deadline().IsZero())
			require.False(t, c.Deadline().After(g.Deadline()))
			g = c
		}
	})
}

// A desk extends a child within its parent alone, and a root never.
func TestExtend(t *testing.T) {
	b := newBench(t, nil)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "p", Conversation: "c", Agent: "o", Scope: scope(t, "email.*")})
	require.NoError(t, err)
	root := b.Desk(g)
	child, err := root.Child(sentinel.Child{ID: "k", Agent: "a", Scope: scope(t, "email.read")})
	require.NoError(t, err)
	require.ErrorIs(t, child.Extend(scope(t, "files.read")), sentinel.ErrWider)
	require.ErrorIs(t, root.Extend(scope(t, "email.read")), sentinel.ErrWider)
	require.NoError(t, child.Extend(scope(t, "email.send")))
	require.True(t, child.Grant().Scope().Allows("email.send"))
	require.False(t, child.Grant().Scope().Allows("email.list"))
}

// A result is trusted only where its Spec says so; the first untrusted one
// taints the desk, and a failure's text is no better than a result.
func TestResultsTaint(t *testing.T) {
	for _, tc := range []struct {
		name    string
		output  skills.Trust
		res     skills.Result
		tainted bool
	}{
		{"untrusted by default", "", skills.Result{Content: "x"}, true},
		{"trusted store", skills.Trusted, skills.Result{Content: "x"}, false},
		{"a skill can't vouch for itself", "", skills.Result{Content: "x", Trust: skills.Trusted}, true},
		{"a template is nobody's", skills.Trusted, skills.Result{Content: "x", Template: true}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBenchFor(t, skills.Spec{Name: "test.do", Effect: skills.Read, Output: tc.output}, func(_ *sentinel.Options, b *bench) {
				b.run = func() (skills.Result, error) { return tc.res, nil }
			})
			desk := b.Desk(grant(t))
			res, err := desk.Invoke(t.Context(), "test.do", nil)
			require.NoError(t, err)
			require.Equal(t, tc.tainted, desk.Tainted())
			require.Equal(t, tc.tainted, res.Trust == skills.Untrusted)
			require.Equal(t, tc.tainted, desk.Trace().Untrusted())
		})
	}
}

// Outward is what reaches others: the skill says so, or a target is not the
// user's own words; of a read only an unknown host or recipient counts.
func TestOutward(t *testing.T) {
	target := json.RawMessage(`{"type":"object","properties":{"to":{"type":"string","x-target":true}}}`)
	for _, tc := range []struct {
		name string
		spec skills.Spec
		args string
		want bool
	}{
		{"its skill says so", skills.Spec{Name: "test.do", Effect: skills.Create, Reaches: skills.Others}, `{}`, true},
		{"target in the request", skills.Spec{Name: "test.do", Effect: skills.Modify, Parameters: target}, `{"to":"IT"}`, false},
		{"target from elsewhere", skills.Spec{Name: "test.do", Effect: skills.Modify, Parameters: target}, `{"to":"mallory@evil.example"}`, true},
		{"no target", skills.Spec{Name: "test.do", Effect: skills.Modify, Parameters: target}, `{}`, false},
		{"a read of an id", skills.Spec{Name: "test.do", Effect: skills.Read, Parameters: target}, `{"to":"t-17"}`, false},
		{"a read from an unknown address", skills.Spec{Name: "test.do", Effect: skills.Read, Parameters: target}, `{"to":"mallory@evil.example"}`,
			true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := skills.Compile(tc.spec)
			require.NoError(t, err)
			reg, err := skills.NewRegistry(s)
			require.NoError(t, err)
			c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: "test.do", Args: []byte(tc.args), Grant: grant(t)})
			require.NoError(t, err)
			require.Equal(t, tc.want, c.Outward())
		})
	}
}

// MaxKeys bounds the keys of all objects of the arguments together, wherever they are.
func TestKeysAreCountedTogether(t *testing.T) {
	object := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":%d,`, i, i)
		}
		return "{" + strings.TrimSuffix(b.String(), ",") + "}"
	}
	half := sentinel.MaxKeys/2 + 1
	for name, args := range map[string]string{
		"one in the other": `{"a":` + object(half) + `,"b":` + object(half) + `}`,
		"in a list":        `{"a":[` + object(half) + `,` + object(half) + `]}`,
	} {
		_, err := sentinel.NewCall(nil, touch.Env{NoFS: true}, sentinel.Proposal{Skill: "x", Args: []byte(args), Grant: grant(t)})
		var ce *sentinel.CallError
		require.ErrorAs(t, err, &ce, name)
		require.Equal(t, sentinel.CodeTooMany, ce.Code, name)
	}
}
