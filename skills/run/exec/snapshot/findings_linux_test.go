package snapshot

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A person is asked where many files are gone or something is written that runs later.
func TestFindings(t *testing.T) {
	limit := MaxDeleted{Files: 50, Percent: 20}
	rows := map[string]struct {
		files  int // of the root, besides one in .git/hooks
		script string
		want   []Removal
		many   bool
		later  []string
	}{
		"nothing":               {200, "true", nil, false, nil},
		"few":                   {200, "rm {1..40}", []Removal{{0, 40, 201, true}}, false, nil},
		"beyond the count":      {300, "rm {1..51}", []Removal{{0, 51, 256, true}}, true, nil},
		"a fifth":               {9, "rm 1 2", []Removal{{0, 2, 10, false}}, false, nil},
		"beyond a fifth":        {9, "rm 1 2 3", []Removal{{0, 3, 10, false}}, true, nil},
		"all of it":             {9, "rm -r ./* .git", []Removal{{0, 10, 10, false}}, true, nil},
		"emptied":               {9, ": >1; : >2; : >3", []Removal{{0, 3, 10, false}}, true, nil},
		"replaced by links":     {9, "ln -sf 9 1; ln -sf 9 2; ln -sf 9 3", []Removal{{0, 3, 10, false}}, true, nil},
		"made again":            {9, "rm 1 2 3; echo x >1; echo x >2; echo x >3", nil, false, nil},
		"changed":               {9, "for i in {1..9}; do echo x >$i; done", nil, false, nil},
		"a hook":                {9, "echo x >.git/hooks/post-commit", nil, false, []string{".git/hooks/post-commit"}},
		"a hook made to run":    {9, "chmod 755 .git/hooks/old", nil, false, []string{".git/hooks/old"}},
		"a hook that goes":      {9, "rm .git/hooks/old", []Removal{{0, 1, 6, true}}, false, nil},
		"hooks by a link":       {9, "rm -r .git/hooks; ln -s ../sub .git/hooks", []Removal{{0, 1, 6, true}}, false, []string{".git/hooks"}},
		"configuration and env": {9, "echo x >.git/config; echo x >.envrc; echo x >Makefile", nil, false, []string{".envrc", ".git/config"}},
		"a new repository":      {9, "mkdir -p new/.git; printf '[core]\\n\\tbare = false\\n' >new/.git/config", nil, false, nil},
		"that runs something": {9, "mkdir -p new/.git; printf '[core]\\n\\thooksPath = h\\n' >new/.git/config", nil, false,
			[]string{"new/.git/config"}},
		"with a hook": {9, "mkdir -p new/.git/hooks; echo x >new/.git/hooks/update; : >new/.git/config", nil, false,
			[]string{"new/.git/hooks/update"}},
		"an old one, plain":     {9, "printf '[core]\\n\\tbare = false\\n' >.git/config", nil, false, []string{".git/config"}},
		"an old one, made anew": {9, "rm -r .git; mkdir .git; : >.git/config", []Removal{{0, 1, 6, true}}, false, []string{".git/config"}},
	}
	for name, row := range rows {
		s := newSite(t, false)
		fillTree(t, s.root, map[string]string{".git/hooks/old": "old", "sub/": ""})
		for i := range row.files {
			require.NoError(t, os.WriteFile(filepath.Join(s.root, strconv.Itoa(i+1)), []byte("x"), 0o644))
		}
		l := s.open(t)
		runIn(t, l, row.script)
		f, err := l.Findings(t.Context(), listChanges(t, l), limit)
		require.NoError(t, err)
		require.Equal(t, row.want, f.Removals, name)
		require.Equal(t, row.many, f.TooMany, name)
		var later []string
		for _, c := range f.RunsLater {
			later = append(later, c.Path)
		}
		require.Equal(t, row.later, later, name)
		require.Equal(t, row.many || row.later != nil, f.Asks(), name)
	}
}

// A folder that git takes for a bare repository runs what its configuration says, whatever
// its name is and in however many calls it was made.
func TestABareRepositoryRunsLater(t *testing.T) {
	for name, row := range map[string]struct {
		script string
		want   []string
	}{
		"whole": {"mkdir -p b/objects b/refs; echo ref >b/HEAD; echo x >b/config", []string{"b/HEAD", "b/config",
			"b/objects", "b/refs"}},
		"last file":  {"echo x >half/config", []string{"half/config"}},
		"at the top": {"mkdir objects refs; echo ref >HEAD; echo x >config", []string{"HEAD", "config", "objects", "refs"}},
		"by a link": {"mkdir -p l/refs; ln -s ../half/objects l/objects; echo r >l/HEAD; echo x >l/config",
			[]string{"l/HEAD", "l/config", "l/objects", "l/refs"}},
		"incomplete":   {"mkdir -p c/objects; echo x >c/config; echo x >c/HEAD.md", nil},
		"taken apart":  {"rm whole/HEAD; echo x >whole/config", nil},
		"in its trees": {"echo x >whole/objects/x", nil},
	} {
		s := newSite(t, false)
		fillTree(t, s.root, map[string]string{"half/objects/": "", "half/refs/": "", "half/HEAD": "r",
			"whole/objects/": "", "whole/refs/": "",
			"whole/HEAD": "r", "whole/config": ""})
		l := s.open(t)
		runIn(t, l, row.script)
		f, err := l.Findings(t.Context(), listChanges(t, l), MaxDeleted{Files: 50})
		require.NoError(t, err)
		var later []string
		for _, c := range f.RunsLater {
			later = append(later, c.Path)
		}
		require.Equal(t, row.want, later, name)
	}
}

// A file that keeps less than a tenth of its bytes counts as one that is gone.
func TestAFileCutToLittleIsLost(t *testing.T) {
	s := newSite(t, false)
	fillTree(t, s.root, map[string]string{"a": strings.Repeat("a", 100), "b": strings.Repeat("b", 100), "c": "c"})
	l := s.open(t)
	runIn(t, l, "echo 12345678 >a; echo 123456789 >b; echo 2 >c")
	f, err := l.Findings(t.Context(), listChanges(t, l), MaxDeleted{Files: 50, Percent: 20})
	require.NoError(t, err)
	require.Equal(t, []Removal{{0, 1, 3, false}}, f.Removals)
	require.True(t, f.TooMany)
}
