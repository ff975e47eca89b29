package snapshot

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is written where a configuration or a link leads that was there before runs later as
// if it were written there.
func TestSteeredRunsLater(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	asBoth(t, func(t *testing.T) {
		for name, row := range map[string]struct {
			files  map[string]string
			script string
			want   []string
		}{
			"no configuration": {map[string]string{"tools/git/": ""}, "echo x >tools/git/pre-push", nil},
			"hooksPath": {map[string]string{".git/config": "[core]\nhooksPath = tools/git", "tools/git/": "", "t": "t"},
				"echo x >tools/git/pre-push; echo x >tools/x; echo x >t; rm t", []string{"tools/git/pre-push"}},
			"that isn't there": {map[string]string{".git/config": "[core] hooksPath = \"tools/git\""},
				"mkdir -p tools/git; echo x >tools/git/pre-push", []string{"tools/git/pre-push"}},
			"everything": {map[string]string{".git/config": "[core]\nhooksPath = ./\n"}, "echo x >pre-push", []string{"pre-push"}},
			"a link to it": {map[string]string{".git/config": "[core]\nhooksPath = h\n", "h": "->real", "real/": ""}, "echo x >real/a",
				[]string{"real/a"}},
			"of a module": {map[string]string{"sub/.git/config": "[core]\nhooksPath = t", "t/": ""},
				"mkdir sub/t; echo >sub/t/a; echo >t/a", []string{"sub/t/a"}},
			"of a worktree": {map[string]string{".git": "gitdir: main/x/wt", "main/x/wt/commondir": "..\n",
				"main/x/config": "[core]\nhooksPath = t"}, "mkdir t; echo x >t/a; echo x >main/x/config",
				[]string{"main/x/config", "t/a"}},
			"included": {map[string]string{".git/config": "[include]\npath = ../conf", "conf": "[core]\nhooksPath = t"},
				"mkdir t; echo x >t/a; echo x >conf", []string{"conf", "t/a"}},
			"a program": {map[string]string{".git/config": "[diff \"x\"]\ntextconv = python3 tool.py -v"},
				"echo x >tool.py; echo x >x", []string{"tool.py"}},
			"an alias": {map[string]string{".git/config": "[alias]\nup = !bin/up\nlog = log x"},
				"mkdir bin; echo x >bin/up; echo x >x", []string{"bin/up"}},
			"Mercurial": {map[string]string{".hg/hgrc": "[hooks]\ncommit = python:lib/check.py:run"},
				"mkdir lib; echo x >lib/check.py", []string{"lib/check.py"}},
			"linked hooks": {map[string]string{".git/hooks": "->../t", "t/": ""}, "echo x >t/a", []string{"t/a"}},
			"a linked hook": {map[string]string{".git/hooks/pre-push": "->../../t/check", "t/check": ""}, "echo x >t/check; echo x >t/b",
				[]string{"t/check"}},
			"a linked file": {map[string]string{"d/.envrc": "->env/sh", "d/env/": ""}, "echo x >d/env/sh; echo x >d/env/b", []string{"d/env/sh"}},
			"tasks by link": {map[string]string{".vscode": "->tasks", "tasks/": ""}, "echo x >tasks/tasks.json", []string{"tasks/tasks.json"}},
			"a new one":     {nil, "mkdir -p n/.git n/t; printf '[core]\\nhooksPath = t' >n/.git/config; echo x >n/t/a", []string{"n/.git/config"}},
		} {
			s := newSite(t, false)
			fillTree(t, s.root, row.files)
			l := s.open(t)
			runIn(t, l, row.script)
			require.Equal(t, row.want, listLater(t, l), name)
			require.NoError(t, l.Discard())
		}
	})
}

// A root that lies in a repository is steered by that repository's configuration, and each by
// the user's own.
func TestSteeredFromOutside(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[core]\nattributesFile = attrs\n"), 0o600))
	s := newSite(t, false)
	fillTree(t, s.root, map[string]string{".git/config": ""})
	fillTree(t, filepath.Dir(s.root), map[string]string{".git/config": "[core]\n\thooksPath = root/above\n"})
	l := s.open(t)
	runIn(t, l, "mkdir above; echo x >above/pre-push; echo x >attrs; echo x >other")
	require.Equal(t, []string{"above/pre-push", "attrs"}, listLater(t, l))
}

// listLater returns the paths that run later.
func listLater(t *testing.T, l *Layer) (out []string) {
	t.Helper()
	f, err := l.Findings(t.Context(), listChanges(t, l), MaxDeleted{Files: 50})
	require.NoError(t, err)
	for _, c := range f.RunsLater {
		out = append(out, c.Path)
	}
	return out
}

// Only what may name a path of the tree counts of a configuration.
func TestListPlaces(t *testing.T) {
	for text, want := range map[string][]string{
		"[core]\nbare = false\n[remote \"o\"]\nurl = a/b\n":  nil,
		"[remote \"o\"]\nurl = ext::sh a/b\n":                {"ext", "sh", "a/b", "ext::sh a/b"},
		"# hooksPath = x\n; a/b\n\n[core]\neditor = vim\n":   nil,
		"[core]\nhooksPath = a b # c\n":                      {"a", "b", "#", "c", "a b # c"},
		"[CORE]\nHOOKSPATH=a\\\nb\n":                         {"ab", "ab"},
		"[core]\nhookspath = ..\n":                           {".."},
		"\ufeff[core] sshCommand = \"'a/b' -c\"\n":           {"a/b", "c", "a/b -c"},
		"[alias]\nx = log a/b\ny = \"!sh a/b\"\n":            {"sh", "a/b", "sh a/b"},
		"[includeIf \"gitdir:/x/\"]\npath = more\n":          {"more", "more"},
		"%include more/rc\n[ui]\neditor = e\n":               {"more/rc", "more/rc"},
		"[credential \"https://h\"]\nhelper = !f() { ./x; }": {"f", "{", "./x", "}", "f() { ./x; }"},
	} {
		var got []string
		for _, one := range listSettings(text) {
			words, folder := one.listPlaces()
			require.Equal(t, one.key == "core.hookspath", folder, text)
			got = append(got, words...)
		}
		require.Equal(t, want, got, "%q", text)
	}
}
