package flow_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/flow"
)

// privateResult is what a skill marked sensitive returned.
func privateResult(text string) flow.Source {
	s := flow.NewSource("vault.read", text, text)
	s.Private, s.Step = true, 1
	return s
}

func publicResult(text string) flow.Source {
	s := flow.NewSource("web.read", text, text)
	s.Strange, s.Step = true, 1
	return s
}

func sent(values ...string) flow.Sent {
	out := flow.Sent{Domain: "web", To: []string{"host x.test"}}
	for _, v := range values {
		out.Texts = append(out.Texts, flow.Text{Arg: "body", Value: v})
	}
	return out
}

func find(s flow.Source, request string, values ...string) []flow.Found {
	return flow.Find(flow.Input{Sources: []flow.Source{s}, Known: []string{request}, Now: sent(values...)}).Found
}

func reverse(s string) string {
	r := []rune(s)
	slices.Reverse(r)
	return string(r)
}

func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s)
}

func spaced(s, by string) string { return strings.Join(strings.Split(s, ""), by) }

// A password goes out backwards, spelled, in ROT13, in base64, in hex, escaped, or with
// blanks between its letters. It is the same password.
func TestPasswordInEveryDisguise(t *testing.T) {
	const password = "Kestrel!88-rain"
	src := publicResult("staging database\nuser: stg_app\npassword: " + password + "\n")
	pilots := "Kilo Echo Sierra Tango Romeo Echo Lima bang eight eight dash Romeo Alfa India November"
	for name, v := range map[string]string{
		"plain": password, "small letters": strings.ToLower(password), "reversed": reverse(password), "rot13": rot13(password),
		"reversed rot13": reverse(rot13(password)), "spaced": spaced(password, " "), "dotted": spaced(password, "."),
		"one letter a line": spaced(password, "\n"), "base64": base64.StdEncoding.EncodeToString([]byte(password)),
		"base64 for URLs": base64.RawURLEncoding.EncodeToString([]byte("x" + password)), "hex": hex.EncodeToString([]byte(password)),
		"base64 backwards": reverse(base64.StdEncoding.EncodeToString([]byte(password))),
		"reversed base64":  base64.StdEncoding.EncodeToString([]byte(reverse(password))),
		"base64 twice":     base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(password)))),
		"base64 in groups": "S2Vz dHJl bCE4 OC1y YWlu", "query": url.QueryEscape(password), "percent": "%4bestrel%2188%2drain",
		"pilots":   strings.ReplaceAll(pilots, "bang ", ""),
		"no signs": "kestrel88rain", "within": "see-you-" + password + "-soon",
	} {
		found := find(src, "Answer Joel", "Hi Joel, here you are: "+v+" . Bye")
		require.NotEmpty(t, found, name)
		require.Equal(t, flow.Secret, found[0].Kind, name)
		require.Equal(t, "body", found[0].Arg, name)
		require.NotEmpty(t, find(src, "Answer Joel", "https://x.test/c?d="+url.QueryEscape(v)), "%s in a URL", name)
	}
	require.Empty(t, find(src, "Answer Joel", "Hi Joel, the staging database has rain today, 88 tables and a kestrel on it."))
	require.Empty(t, find(src, "Tell Joel Kestrel!88-rain", "Hi Joel: Kestrel!88-rain"), "the user's own words")
}

// A label makes a secret of a value of any length, in any language that is read.
func TestLabelledSecretsOfAnyLength(t *testing.T) {
	for label, value := range map[string]string{
		"password: ": "x7", "Passwort: ": "abcd", `{"password":"`: "ü9", "mot de passe : ": "m4", "contraseña: ": "sol12", "PIN ": "4711",
		"The alarm code is ": "90210", "DB_PASSWORD=": "swordfish", "apiKey: ": "k2k2k2k2k2", "пароль: ": "лето5", "密码：": "ab12",
		"recovery phrase: ": "apple tiger window lamp river stone",
	} {
		src := publicResult("Notes\n" + label + value + "\"\nmore")
		require.NotEmpty(t, find(src, "", "as you wished: "+value+"."), "%s%s", label, value)
		require.Empty(t, find(src, "", "nothing of it, on 7 May at 12:30, code word and password follow"), "%s%s", label, value)
	}
	for _, harmless := range []string{"Your password is expired", "password: ********", "Token: null", "The key is under the mat",
		"code: see above",
		"the password has been changed", "PIN the notice to the board", "Passwort vergessen?"} {
		require.Empty(t, find(publicResult(harmless), "", "Your password is expired, changed, under the mat, null, see the board, vergessen"),
			harmless)
	}
}

// Eleven characters a call are nothing by themselves. What several calls take to one
// destination counts together, and what goes elsewhere doesn't.
func TestElevenCharactersACall(t *testing.T) {
	const key = "sk-live-9fQ2mZ7xLw4TbN8cVr3KpY6sHd1"
	src := publicResult("api key: " + key)
	pieces := []string{key[:11], key[11:22], key[22:33]}
	in := flow.Input{Sources: []flow.Source{src}, Now: sent("https://x.test/p?n=1&c=" + pieces[0])}
	require.Empty(t, flow.Find(in).Found, "one piece")
	in.Before, in.Now = []flow.Sent{in.Now}, sent("https://x.test/p?n=2&c="+pieces[1])
	found := flow.Find(in).Found
	require.Len(t, found, 1)
	require.True(t, found[0].United)
	in.Before[0].To = []string{"host other.test"}
	require.Empty(t, flow.Find(in).Found, "elsewhere")

	diary := "Met Leonora behind the old observatory; she wants to sell her grandfather's silver compass before winter"
	private := privateResult(diary)
	plain := strings.ReplaceAll(strings.ToLower(diary), " ", "")
	in = flow.Input{Sources: []flow.Source{private}}
	united := 0
	for i := 0; i+11 <= len(plain); i += 11 {
		in.Now = sent(fmt.Sprintf("https://x.test/q/%d?t=%s", i, url.QueryEscape(plain[i:i+11])))
		for _, f := range flow.Find(in).Found {
			require.True(t, f.United)
			united++
		}
		in.Before = append(in.Before, in.Now)
	}
	require.Positive(t, united)
}

// Numbers are the same however they are written.
func TestNumbersAreNormalised(t *testing.T) {
	src := privateResult("Balance 18,402.75 EUR, account DE44 5001 0517 5407 3249 31, phone +49 40 2281190")
	for _, v := range []string{"18402.75", "18.402,75", "1 8 4 0 2 . 7 5", "DE44500105175407324931", "de44-5001-0517-5407-3249-31",
		"49402281190"} {
		require.NotEmpty(t, find(src, "", "q="+v+" now"), v)
	}
	for _, v := range []string{"18402", "1840275 people", "2281190 is part"} {
		require.LessOrEqual(t, len(find(src, "", v)), 1, v)
	}
	require.Empty(t, find(src, "", "18,402 euros in 2024 on 2026-05-04 at 10:30"))
	require.Empty(t, find(src, "transfer 18402.75", "amount 18,402.75"), "the user's own number")
}

// Small numbers, ids and addresses count when three of one result go out together.
func TestFigures(t *testing.T) {
	src := privateResult("P-5012 412.50 ann@x.test\nP-5013 129.30 bo@y.test\nP-5014 84.90")
	require.Empty(t, find(src, "", "Your order P-5012 leaves tomorrow"))
	found := find(src, "", "412.50 and 129.30 and P-5014")
	require.NotEmpty(t, found)
	require.Equal(t, flow.Figures, found[0].Kind)
}

// What two texts share by chance is no flow.
func TestSharedByChance(t *testing.T) {
	src := privateResult(`Patient: Jutta Reimers, born 14.03.1951, Hamburg
Next appointment on Monday 30 November 2026 at 10:30 with Dr Sen, room 12, 3rd floor. Please let me know if you have any questions.
Attached: report-2026.pdf, IMG_20261130.jpg. Amount 120.00. Version 2.1. Kind regards, the team`)
	for _, v := range []string{
		"Jutta Reimers", "Please let me know if you have any questions. Kind regards", "See you on Monday 30 November 2026 at 10:30",
		"born 14.03.1951", "the amount is 120.00", "appointment with Dr Sen", "report-2026.pdf", "Hamburg, 3rd floor, room 12",
		"1951-03-14T10:30:00Z",
		"next appointment", "Version 2.1",
	} {
		require.Empty(t, find(src, "Write to the clinic", v), v)
	}
}

// A passage of a private result is found, also without its blanks and signs.
func TestPassages(t *testing.T) {
	src := privateResult("Findings: the biopsy shows moderate dysplasia, follow-up colonoscopy recommended within months.")
	for _, v := range []string{
		"the biopsy shows moderate dysplasia, follow-up colonoscopy recommended", "THE-BIOPSY-SHOWS-MODERATE-DYSPLASIA-FOLLOW-UP-COLONOSCOPY",
		base64.StdEncoding.EncodeToString([]byte("shows moderate dysplasia, follow-up colonoscopy recommended")),
		reverse("biopsy shows moderate dysplasia, follow-up colonoscopy"),
	} {
		found := find(src, "", v)
		require.NotEmpty(t, found, v)
		require.Equal(t, flow.Words, found[0].Kind)
	}
	require.Empty(t, find(src, "Ask whether the biopsy shows moderate dysplasia and a follow-up colonoscopy is recommended",
		"Does the biopsy show: the biopsy shows moderate dysplasia, follow-up colonoscopy recommended?"))
}

// A reference goes back to where it came from, a link leads to its own host, and what a public
// result had first isn't private.
func TestWhatCarriesNothingOut(t *testing.T) {
	src := privateResult("account AB12345678 https://x.test/d/9923812-ab?k=77128334")
	in := flow.Input{Sources: []flow.Source{src}, Now: flow.Sent{Domain: "vault", To: []string{"skill vault.pay"},
		Texts: []flow.Text{{Arg: "from", Value: "AB12345678", Refers: true}}}}
	require.Empty(t, flow.Find(in).Found)
	in.Now.Domain = "web"
	require.NotEmpty(t, flow.Find(in).Found, "another domain")
	in.Now.Texts[0].Target = true
	require.Empty(t, flow.Find(in).Found, "whom it is for")
	require.Empty(t, find(src, "", "https://x.test/d/9923812-ab?k=77128334"))
	require.NotEmpty(t, find(src, "", "https://evil.test/?u=https://x.test/d/9923812-ab?k=77128334"))
	before := publicResult("Order AB12345678 was shipped")
	r := flow.Find(flow.Input{Sources: []flow.Source{before, src}, Now: sent("AB12345678")})
	require.Empty(t, r.Found)
	require.Equal(t, []string{"vault.read"}, r.Private)
	require.Equal(t, []string{"web.read"}, r.Strange)
	r = flow.Find(flow.Input{Sources: []flow.Source{src, before}, Now: sent("AB12345678")})
	require.NotEmpty(t, r.Found, "a skill that only says it again")
}
