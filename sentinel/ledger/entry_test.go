package ledger

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"
)

// Every bound of an entry is enforced, and the error tells no content.
func TestValidate(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Entry)
	}{
		{"no id", func(e *Entry) { e.ID = "" }},
		{"long id", func(e *Entry) { e.ID = strings.Repeat("a", MaxID+1) }},
		{"id with a wildcard", func(e *Entry) { e.ID = "secret%" }},
		{"no kind", func(e *Entry) { e.Kind = "" }},
		{"long kind", func(e *Entry) { e.Kind = strings.Repeat("a", MaxKind+1) }},
		{"long skill", func(e *Entry) { e.Skill = strings.Repeat("a", MaxKey+1) }},
		{"control character", func(e *Entry) { e.User = "secret\n" }},
		{"nul", func(e *Entry) { e.Code = "secret\x00" }},
		{"not utf-8", func(e *Entry) { e.Agent = "secret\xff" }},
		{"no time", func(e *Entry) { e.Time = time.Time{} }},
		{"far future", func(e *Entry) { e.Time = time.Date(2600, 1, 1, 0, 0, 0, 0, time.UTC) }},
		{"body is not json", func(e *Entry) { e.Body = []byte(`{"secret"`) }},
		{"large body", func(e *Entry) { e.Body = []byte(`"` + strings.Repeat("a", MaxBody) + `"`) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := entry(1)
			require.NoError(t, e.Validate())
			tc.change(&e)
			err := e.Validate()
			require.ErrorIs(t, err, ErrEntry)
			require.NotContains(t, err.Error(), "secret")
		})
	}
	e := entry(1)
	e.Body = []byte(`"` + strings.Repeat("a", MaxBody-2) + `"`)
	e.Skill = strings.Repeat("a", MaxKey)
	require.NoError(t, e.Validate(), "at the limits")
}

// A leaf reads back as the record it was made of, and every field is in it.
func TestLeafRoundTrip(t *testing.T) {
	r := Record{Index: 7, Entry: entry(7)}
	leaf := appendLeaf(nil, &r)
	got, err := ParseLeaf(leaf)
	require.NoError(t, err)
	require.Equal(t, r, got)
	for i, f := range r.listTextFields() {
		changed := r
		*changed.listTextFields()[i].value += "x"
		require.NotEqual(t, leaf, appendLeaf(nil, &changed), f.name)
	}
}

// The encoding is injective: whatever parses is exactly what would be written. No
// two byte strings are one record, and no two records are one byte string.
func FuzzParseLeaf(f *testing.F) {
	r := Record{Index: 3, Entry: entry(3)}
	f.Add(appendLeaf(nil, &r))
	r = Record{Entry: Entry{ID: "a", Time: epoch, Kind: "k"}}
	f.Add(appendLeaf(nil, &r))
	f.Add([]byte(leafTag))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseLeaf(b)
		if err != nil {
			return
		}
		if again := appendLeaf(nil, &r); !bytes.Equal(again, b) {
			t.Fatalf("%x parses to a record that is written as %x", b, again)
		}
	})
}

// Two entries that differ anywhere never have one leaf, wherever bytes move.
func FuzzLeafInjective(f *testing.F) {
	f.Add("a", "b", "c", "a", "bc", "")
	f.Add("", "", "x", "x", "", "")
	f.Fuzz(func(t *testing.T, a1, a2, a3, b1, b2, b3 string) {
		x := Record{Entry: Entry{ID: "i", Time: epoch, Agent: a1, Skill: a2, Body: []byte(a3)}}
		y := Record{Entry: Entry{ID: "i", Time: epoch, Agent: b1, Skill: b2, Body: []byte(b3)}}
		same := a1 == b1 && a2 == b2 && a3 == b3
		if bytes.Equal(appendLeaf(nil, &x), appendLeaf(nil, &y)) != same {
			t.Fatal("two records, one leaf")
		}
	})
}

// A head that parses is the very text that would be signed.
func FuzzParseHead(f *testing.F) {
	f.Add(Head{Origin: "vedette/ledger", Size: 4, Time: epoch}.formatSignedText())
	f.Add("a\n+7\n\ntime x\n")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := parseHeadText(text)
		if err == nil && h.formatSignedText() != text {
			t.Fatalf("%q is written as %q", text, h.formatSignedText())
		}
	})
}

// The edge in memory gives the hashes and roots that tlog computes from a full
// tree, at every size.
func TestEdgeAgreesWithTlog(t *testing.T) {
	var all []tlog.Hash
	reader := tlog.HashReaderFunc(func(idx []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(idx))
		for i, x := range idx {
			out[i] = all[x]
		}
		return out, nil
	})
	var e edge
	for n := range int64(300) {
		data := fmt.Appendf(nil, "record %d", n)
		want, err := tlog.StoredHashes(n, data, reader)
		require.NoError(t, err)
		var got []tlog.Hash
		e.add(tlog.RecordHash(data), func(h tlog.Hash) { got = append(got, h) })
		require.Equal(t, want, got)
		all = append(all, got...)
		root, err := tlog.TreeHash(n+1, reader)
		require.NoError(t, err)
		require.Equal(t, root, e.computeRoot())
		var kept []tlog.Hash
		for _, i := range listEdgeIndexes(n + 1) {
			kept = append(kept, all[i])
		}
		require.Equal(t, kept, e.hashes, "what is loaded is what was in memory")
	}
}

// A signer never prints its key.
func TestSignerIsSilent(t *testing.T) {
	s := newSigner(t)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		require.Equal(t, s.PublicKey(), fmt.Sprintf(verb, s))
		require.Equal(t, s.PublicKey(), fmt.Sprintf(verb, *s))
	}
	_, err := NewSigner("PRIVATE+KEY+secret")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}
