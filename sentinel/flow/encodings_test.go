package flow_test

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/flow"
)

// writeCodes writes each byte of a text by itself.
func writeCodes(text, by string, write func(byte) string) string {
	out := make([]string, len(text))
	for i := range len(text) {
		out[i] = write(text[i])
	}
	return strings.Join(out, by)
}

func hexCode(head string) func(byte) string {
	return func(c byte) string { return head + hex.EncodeToString([]byte{c}) }
}

func decimalCode(c byte) string { return strconv.Itoa(int(c)) }

func encodeOnce(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// A secret goes out as codes with any signs between them, in base32, in base64 of wide characters,
// or encoded again and again. It is the same secret.
func TestSecretInEveryEncoding(t *testing.T) {
	src := publicResult("the wifi password: " + wifi)
	wide := writeCodes(wifi, "", func(c byte) string { return string([]byte{c, 0}) })
	for name, v := range map[string]string{
		"hex, dashes": writeCodes(wifi, "-", hexCode("")), "hex, underscores": writeCodes(wifi, "_", hexCode("")),
		"hex, colons": writeCodes(wifi, ":", hexCode("")), "hex, 0x": writeCodes(wifi, " ", hexCode("0x")),
		"hex, 0x and commas": writeCodes(wifi, ",", hexCode("0x")), "hex, slashes": "https://x.test/" + writeCodes(wifi, "/", hexCode("")),
		"hex, capitals": strings.ToUpper(writeCodes(wifi, "-", hexCode(""))), "hex, then a number": writeCodes(wifi, " ", hexCode("")) + " 100",
		"decimals": writeCodes(wifi, " ", decimalCode), "decimals, commas": writeCodes(wifi, ", ", decimalCode),
		"decimals, dashes": writeCodes(wifi, "-", decimalCode), "base32": base32.StdEncoding.EncodeToString([]byte(wifi)),
		"base32, small letters": strings.ToLower(strings.TrimRight(base32.StdEncoding.EncodeToString([]byte(wifi)), "=")),
		"base32 of a part":      base32.StdEncoding.EncodeToString([]byte("it is " + wifi[:13])), "base64 of wide characters": encodeOnce(wide),
		"base64 three times": encodeOnce(encodeOnce(encodeOnce(wifi))), "base64 of dashes": encodeOnce(writeCodes(wifi, "-", hexCode(""))),
	} {
		found := find(src, "", "here you are: "+v+" bye")
		require.NotEmpty(t, found, name)
		require.True(t, found[0].Disguised, name)
	}
	for _, harmless := range []string{"on 2026-05-04 at 10:30 in rooms 72-101-108", "MAC 00-1b-44-11-3a-b7", "INVOICE2026MAYABCDEF"} {
		require.Empty(t, find(src, "", harmless), harmless)
	}
}

// Two mailboxes of one domain are one destination.
func TestMailboxesOfOneDomain(t *testing.T) {
	to := func(domain, half string) flow.Sent {
		return flow.Sent{Domain: "email", To: []string{"mailbox " + domain}, Texts: []flow.Text{{Arg: "body", Value: half}}}
	}
	in := flow.Input{Sources: []flow.Source{privateResult("password: " + wifi)}, Now: to("evil.test", wifi[10:]),
		Before: []flow.Sent{to("evil.test", wifi[:10])}}
	require.NotEmpty(t, flow.Find(in).Found)
	in.Before[0].To = []string{"mailbox other.test"}
	in.Now.Texts[0].Value = wifi[10:16]
	require.Empty(t, flow.Find(in).Found)
}

// Every way that people write a password so that it isn't seen at once is the same password:
// turned, spelled, with fillers, in the address of a page, whatever its length.
func TestLabelledSecretsInEveryDisguise(t *testing.T) {
	turn := func(s string) string {
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
	reverse := func(s string) string {
		r := []rune(s)
		slices.Reverse(r)
		return string(r)
	}
	spell := func(s, by string) string { return strings.Join(strings.Split(s, ""), by) }
	eachWord := func(s string, change func(string) string) string {
		words := strings.Fields(s)
		for i := range words {
			words[i] = change(words[i])
		}
		return strings.Join(words, " ")
	}
	back := func(s string) string {
		words := strings.Fields(s)
		slices.Reverse(words)
		return strings.Join(words, " ")
	}
	for _, secret := range []string{"hunter2", "Tr0ub4dorhorse", "correct horse battery staple", "swordfish"} {
		src := publicResult("the wifi password: " + secret)
		ways := map[string]string{
			"ROT13": turn(secret), "backwards": reverse(secret), "words turned round": back(secret),
			"each word backwards": eachWord(secret, reverse),
			"ROT13 backwards":     reverse(turn(secret)), "ROT13 in base64": encodeOnce(turn(secret)),
			"base64 backwards": reverse(encodeOnce(secret)),
			"base64, spelled":  spell(encodeOnce(secret), " "), "ROT13, spelled": spell(turn(secret), " "),
			"backwards, spelled": spell(reverse(secret), "-"),
			"capitals":           strings.ToUpper(secret), "filled": eachWord(secret, func(w string) string { return spell(w, "x") }),
		}
		for _, by := range []string{" ", "-", ".", "_", ", ", "/", "|", "*", "\u200b", "\n"} {
			ways["spelled with "+by] = spell(secret, by)
		}
		for _, by := range []string{" and ", " then "} {
			ways["spelled with "+by] = eachWord(secret, func(w string) string { return spell(w, by) })
		}
		for name, v := range ways {
			for _, frame := range []string{"%", "here you are: % bye", "https://x.test/?c=%"} {
				require.NotEmpty(t, find(src, "", strings.ReplaceAll(frame, "%", v)), "%s: %s", secret, name)
			}
		}
	}
	for _, secret := range []string{"4711", "a9Kd"} { // padding is a part of what is encoded
		src := publicResult("the wifi password: " + secret)
		for _, v := range []string{encodeOnce(secret), reverse(encodeOnce(secret)),
			spell(secret, " and "), spell(secret, "x")} {
			require.NotEmpty(t, find(src, "", v), "%s: %s", secret, v)
		}
	}
	src := publicResult("the wifi password: hunter2")
	for _, harmless := range []string{"a and b and c and d", "axbxcxdx", "bananas and mamas", "1 and 2 and 3 and 4",
		"https://x.test/?id=Zm9vYg=="} {
		require.Empty(t, find(src, "", harmless), harmless)
	}
}
