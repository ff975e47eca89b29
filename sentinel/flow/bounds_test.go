package flow_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/flow"
)

const wifi = "Tr0ub4dor-Xylophone9"

// varied is a text of so many bytes in which no passage comes twice.
func varied(size int) string {
	rnd := rand.New(rand.NewSource(1))
	var b strings.Builder
	for b.Len() < size {
		b.WriteByte("abcdefghijklmnopqrstuvwxyz0123456789"[rnd.Intn(36)])
		if b.Len()%7 == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// What isn't compared never passes in silence: whatever stands before a secret, in the call or
// in the result, the secret is found, or the report says that it may be missed.
func TestNothingPassesBeyondABound(t *testing.T) {
	decoys := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "password: decoy%dxy\n", i)
		}
		return b.String()
	}
	label := "the wifi password: " + wifi
	for name, tc := range map[string]struct {
		result string
		out    []string
		found  bool // not just that it may be missed
	}{
		"a long text":                     {label, []string{strings.Repeat("some words here ", 4300) + wifi}, true},
		"a longer text":                   {label, []string{strings.Repeat("some words here ", 70000) + wifi}, false},
		"a long argument before":          {label, []string{strings.Repeat("some words here ", 4000), wifi}, true},
		"a longer argument before":        {label, []string{strings.Repeat("some words here ", 70000), wifi}, false},
		"20 KB of varied text before":     {label, []string{varied(20 << 10), wifi}, true},
		"50 KB of varied text before":     {label, []string{varied(50 << 10), wifi}, true},
		"200 KB of varied text before":    {label, []string{varied(200 << 10), wifi}, true},
		"a thousand decoys before":        {decoys(1030) + label, []string{wifi}, true},
		"more decoys than are read":       {decoys(9000) + label, []string{wifi}, false},
		"beyond what is read of a result": {strings.Repeat("some words here ", 70000) + label, []string{wifi}, false},
		"many arguments before":           {label, append(strings.Fields(varied(100<<10)), wifi), true},
		"blanks and escapes before":       {label, []string{strings.Repeat("a+b&lt;%41 ", 20000), wifi}, false},
	} {
		for _, src := range []flow.Source{publicResult(tc.result), privateResult(tc.result)} {
			r := flow.Find(flow.Input{Sources: []flow.Source{src}, Now: sent(tc.out...)})
			require.True(t, r.Unread || len(r.Found) > 0, "%s, private: %v", name, src.Private)
			if tc.found {
				require.NotEmpty(t, r.Found, "%s, private: %v", name, src.Private)
				require.False(t, r.Unread, "%s, private: %v", name, src.Private)
			}
		}
	}
	r := flow.Find(flow.Input{Sources: []flow.Source{publicResult("A garden.")}, Now: sent(strings.Repeat("some words here ", 70000))})
	require.False(t, r.Unread, "nothing that counts was read")
}

// A value that also stands where it doesn't count is found where it does: a decoy hides
// nothing, whether it is a file's name, a link of the result or a reference.
func TestDecoysHideNothing(t *testing.T) {
	const iban = "DE44500105175407324931"
	link := "https://x.test/p?account=" + iban
	decoy := func(value string, as flow.Text, rest ...string) flow.Sent {
		out := sent(append([]string{value}, rest...)...)
		as.Arg, as.Value = "id", value
		out.Texts[0] = as
		out.Domain = "vault"
		return out
	}
	for name, tc := range map[string]struct {
		result string
		sent   flow.Sent
	}{
		"a target":           {"Account of Ann: " + iban, decoy("file-"+iban+".x", flow.Text{Target: true}, "the account is "+iban)},
		"a reference":        {"Account of Ann: " + iban, decoy(iban, flow.Text{Refers: true}, "the account is "+iban)},
		"the result's link":  {"Account of Ann: " + iban + " see " + link, decoy(link, flow.Text{}, "the account is "+iban)},
		"a number in a path": {"Balance 18,402.75", decoy("18402.75", flow.Text{Target: true}, "it is 18.402,75")},
		"a short code":       {"PIN 4711", decoy("4711", flow.Text{Target: true}, "4711")},
		"words in a path": {"Findings: the biopsy shows moderate dysplasia, follow-up colonoscopy recommended",
			decoy("the-biopsy-shows-moderate-dysplasia-follow-up-colonoscopy", flow.Text{Target: true},
				"the biopsy shows moderate dysplasia, follow-up colonoscopy")},
	} {
		r := flow.Find(flow.Input{Sources: []flow.Source{privateResult(tc.result)}, Now: tc.sent})
		require.NotEmpty(t, r.Found, name)
		tc.sent.Texts = tc.sent.Texts[:1]
		if name != "a short code" { // a labelled secret counts everywhere
			require.Equal(t, "body", r.Found[0].Arg, name)
			require.Empty(t, flow.Find(flow.Input{Sources: []flow.Source{privateResult(tc.result)}, Now: tc.sent}).Found, "%s alone", name)
		}
	}
}
