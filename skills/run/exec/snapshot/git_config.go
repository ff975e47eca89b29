package snapshot

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxGitConfig is how long the configuration of a new repository may be that isn't asked
// about, in bytes. Git's own has some hundred.
const maxGitConfig = 16 << 10

// newRepositories returns the configurations and the samples of hooks of repositories that the
// program made itself. Their folder .git was not there before.
func newRepositories(list []Change) (configs, samples []Change) {
	type place struct {
		root int
		path string
	}
	made := map[place]bool{}
	for _, c := range list {
		if c.Type == Folder && c.Kind == Created && path.Base(c.Path) == ".git" {
			made[place{c.Root, c.Path}] = true
		}
	}
	for _, c := range list {
		folder, name := path.Split(c.Path)
		folder = strings.TrimSuffix(folder, "/")
		repository := made[place{c.Root, folder}]
		switch {
		case c.Kind != Created || c.Refused != "" || c.Stripped != "":
		case c.Type == File && name == "config" && c.Size <= maxGitConfig && repository:
			configs = append(configs, c)
		case c.Type == Folder && name == "hooks" && repository,
			c.Type == File && strings.HasSuffix(name, ".sample") && path.Base(folder) == "hooks" && made[place{c.Root, path.Dir(folder)}]:
			samples = append(samples, c)
		}
	}
	return configs, samples
}

// gitSettings are the settings that git clone and git init write, by section. None of them
// names a program, a file with more settings or a folder of hooks. Whatever else stands in
// a configuration asks.
var gitSettings = map[string][]string{
	"core": {"repositoryformatversion", "filemode", "bare", "logallrefupdates",
		"ignorecase", "precomposeunicode", "symlinks", "sparsecheckout",
		"sparsecheckoutcone"},
	"remote":     {"url", "pushurl", "fetch", "tagopt", "prune", "mirror", "promisor", "partialclonefilter"},
	"branch":     {"remote", "merge", "rebase"},
	"user":       {"name", "email"},
	"init":       {"defaultbranch"},
	"submodule":  {"active", "url"},
	"extensions": {"objectformat", "refstorage", "partialclone"},
}

var (
	gitHeader  = regexp.MustCompile(`^\[([A-Za-z]+)(?: "[^"\\]*")?\]$`)
	gitSetting = regexp.MustCompile(`^([A-Za-z]+)\s*=\s*([^"\\]*)$`)
)

// isPlainGitConfig reports whether a repository's configuration has none but the plainest
// settings, each on a line of its own. It doesn't read what git reads: what it can't read is
// not plain.
func isPlainGitConfig(text string) bool {
	section := ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.Trim(line, " \t")
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return false
		}
		if line == "" {
			continue
		}
		if m := gitHeader.FindStringSubmatch(line); m != nil {
			section = strings.ToLower(m[1])
			continue
		}
		m := gitSetting.FindStringSubmatch(line)
		if m == nil || !slices.Contains(gitSettings[section], strings.ToLower(m[1])) || !isPlainRemote(m[2]) {
			return false
		}
	}
	return true
}

// isPlainRemote reports whether a value names no helper of git's, as ext::program does.
func isPlainRemote(value string) bool {
	return !strings.Contains(value, "::") && !strings.HasPrefix(value, "-")
}
