package flow_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel/flow"
)

// chance draws words that two texts share by chance: names, common words, dates, times, years,
// round and small numbers, files.
func chance() *rapid.Generator[string] {
	names := rapid.SampledFrom(strings.Fields("Anna Berger Joel Nadia Hamburg Lisbon Leonora Schneider Okada Marisol Quintana Tomás"))
	common := rapid.SampledFrom(strings.Fields(`the please let me know if you have any questions and thanks for your mail we will see you then
		Liebe Grüße und vielen Dank für Ihre Nachricht le la merci pour votre`))
	dates := rapid.Custom(func(t *rapid.T) string {
		at := time.Unix(rapid.Int64Range(0, 2_000_000_000).Draw(t, "at"), 0).UTC()
		return at.Format(rapid.SampledFrom([]string{"2006-01-02", "02.01.2006", "2 January 2006", "15:04", time.RFC3339, "2006"}).Draw(t, "form"))
	})
	numbers := rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(0, 99).Draw(t, "n")
		return rapid.SampledFrom([]string{fmt.Sprint(n), fmt.Sprintf("%d.00", n), fmt.Sprintf("%d,000", n), fmt.Sprintf("%d%%", n),
			fmt.Sprintf("v%d", n%10)}).Draw(t, "as")
	})
	files := rapid.SampledFrom([]string{"report-2026.pdf", "IMG_20261130.jpg", "invoice_77123.pdf", "notes.md"})
	return rapid.OneOf(names, common, common, common, dates, numbers, files)
}

// What is shared by chance never counts, however much of it there is: the words of the two texts
// are drawn by themselves.
func TestChanceNeverCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(chance(), 0, 60).Draw(t, "private"), rapid.SampledFrom([]string{" ", ", ", "\n"}).Draw(t, "by"))
		out := strings.Join(rapid.SliceOfN(chance(), 0, 25).Draw(t, "out"), " ")
		for _, f := range find(privateResult(text), "", out) {
			require.Fail(t, "a flow by chance", "%+v\n%q\n%q", f, text, out)
		}
	})
}

// What the user wrote never counts, whatever it is.
func TestTheUsersWordsNeverCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.OneOf(chance(), rapid.StringMatching(`[A-Z]{2}[0-9]{8}`), rapid.StringMatching(`[0-9]{5,9}\.[0-9]{2}`)), 1,
			8).Draw(t, "words")
		text := strings.Join(words, " ")
		require.Empty(t, find(privateResult("It says: "+text+" in all"), "Please write "+text, text))
	})
}

// A password is found in every disguise.
func TestAnyPasswordInAnyDisguise(t *testing.T) {
	disguises := map[string]func(string) string{
		"plain": func(s string) string { return s }, "reversed": reverse, "rot13": rot13,
		"spaced": func(s string) string { return spaced(s, " ") },
		"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"hex":    func(s string) string { return hex.EncodeToString([]byte(s)) },
		"percent": func(s string) string {
			var b strings.Builder
			for i := range len(s) {
				fmt.Fprintf(&b, "%%%02x", s[i])
			}
			return b.String()
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		password := rapid.StringMatching(`[a-z]{3}[A-Z][0-9]{2}[a-z]{2,8}[!#_-][a-z0-9]{2}`).Draw(t, "password")
		before := strings.Join(rapid.SliceOfN(chance(), 0, 10).Draw(t, "before"), " ")
		for name, disguise := range disguises {
			require.NotEmpty(t, find(publicResult("user: x\npassword: "+password+"\n"), "", before+" :: "+disguise(password)), "%s %s", name,
				password)
		}
	})
}

// FuzzFind looks for panics, and for findings that name no argument of the call.
func FuzzFind(f *testing.F) {
	f.Add("password: x7", "x7", "", "before")
	f.Add("Balance 18,402.75 DE44 5001 0517 5407 3249 31", "https://x.test/?c=18402.75", "what is it", "DE44500105")
	f.Add("-----BEGIN KEY-----\nabc", "S2Vz dHJl bCE4", "\x00", strings.Repeat("abcd", 50))
	f.Add(strings.Repeat("abcdabcd", 40), strings.Repeat("abcd", 40), "é", "%%%")
	f.Add("密码：ab12 パスワード：x", "ab12", "", "")
	f.Fuzz(func(t *testing.T, private, out, request, before string) {
		src := privateResult(private)
		r := flow.Find(flow.Input{Sources: []flow.Source{src, publicResult(private)}, Known: []string{request}, Now: sent(out),
			Before: []flow.Sent{sent(before)}})
		require.True(t, r.Leaves)
		for _, found := range r.Found {
			require.Equal(t, "body", found.Arg)
			require.Contains(t, []string{"vault.read", "web.read"}, found.Skill)
		}
		none := flow.Find(flow.Input{Sources: []flow.Source{src}, Known: []string{request}, Now: flow.Sent{}})
		require.Empty(t, none.Found)
	})
}

// hostile is a megabyte of text that repeats what goes out, and never the same twice.
func hostile() string {
	var b strings.Builder
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, "abcd%dabcd %x password: x%d ", i, i*i, i)
	}
	return b.String()
}

// Beyond the bounds of results and of what goes out it is said that something may be missed. How
// many steps one comparison takes is for TestStepsAreLinear.
func TestHostileResultsAreBounded(t *testing.T) {
	text := hostile()
	r := flow.Find(flow.Input{Sources: []flow.Source{privateResult(text), privateResult(text), privateResult(text), privateResult(text),
		privateResult(text)},
		Now: sent(strings.Repeat("abcd", 4<<10))})
	require.True(t, r.Unread)
	require.LessOrEqual(t, len(r.Found), 16)
	r = flow.Find(flow.Input{Sources: []flow.Source{privateResult("AB12345678")}, Now: sent(strings.Repeat("quite a lot of text ", 40<<10))})
	require.True(t, r.Unread, "what goes out is too long")
}

func BenchmarkFind(b *testing.B) {
	text := "Account AB12345678, balance 18,402.75.\n" + strings.Repeat("On Monday the committee discussed the garden and the gate again.\n",
		60)
	mail := strings.Repeat("Dear Ann, the garden is green and the gate is open again. ", 20)
	for name, in := range map[string]flow.Input{
		"nothing private, 1 KB mail":      {Sources: []flow.Source{publicResult(text)}, Now: sent(mail)},
		"4 KB private, 1 KB mail":         {Sources: []flow.Source{privateResult(text)}, Now: sent(mail)},
		"4 KB private, short address":     {Sources: []flow.Source{privateResult(text)}, Now: sent("https://x.test/p?c=AB12")},
		"1 MB hostile, 16 KB of the same": {Sources: []flow.Source{privateResult(hostile())}, Now: sent(strings.Repeat("abcd", 4<<10))},
		"1 MB hostile, 64 KB mail, before": {Sources: []flow.Source{privateResult(hostile())}, Now: sent(strings.Repeat(mail, 55)),
			Before: []flow.Sent{sent(mail), sent(mail)}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r := flow.Find(in); !r.Leaves {
					b.Fatal(r)
				}
			}
		})
	}
}
