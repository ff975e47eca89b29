package snapshot

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Links may lead to what is in their root, by a text that no other link can bend.
func TestStaysInside(t *testing.T) {
	allowed := []string{"/usr", "/opt/tools/"}
	for _, row := range []struct {
		rel, target string
		want        bool
	}{
		{"l", "f", true}, {"l", "./f", true}, {"l", "d/f", true}, {"d/l", "../f", true}, {"a/b/l", "../../f", true}, {"a/b/l", "..", true},
		{"l", ".", true}, {"d/l", "../", true}, {"d/l", "..//f", true},
		{"l", "", false}, {"l", "..", false}, {"l", "../f", false}, {"d/l", "../../f", false}, {"d/l", "..//../f", false},
		{"a/b/l", "x/../f", false}, {"a/b/l", "x/..", false}, {"a/b/l", "./../f", false}, {"a/b/l", "../x/../../../y", false},
		{"l", "/root/f", true}, {"l", "/root", true}, {"l", "/root/", true}, {"l", "/root/../etc", false}, {"l", "/rootless/f", false},
		{"l", "/", false}, {"l", "/etc/passwd", false}, {"l", "//root/f", true}, {"l", "/root/./f", true},
		{"l", "/usr/bin/env", true}, {"l", "/usr", true}, {"l", "/usrlocal", false}, {"l", "/usr/../etc", false}, {"l", "/opt/tools/x", true},
		{"l", "/opt/tools", false},
	} {
		require.Equal(t, row.want, staysInside("/root", row.rel, row.target, allowed), "%s -> %s", row.rel, row.target)
	}
}

// What others run without being asked to is known by its path, in any case of letters.
func TestRunsLater(t *testing.T) {
	for path, want := range map[string]bool{
		".git/hooks/pre-commit": true, ".git/hooks/pre-commit.sample": false, ".git/config": true, ".GIT/Config": true, "a/b/.git/config": true,
		".git/index": false, ".git/objects/ab/cd": false, ".git/HEAD": false, ".git/refs/heads/main": false, ".git/logs/HEAD": false,
		".git/modules/x/config": true, ".git/modules/x/hooks/post-merge": true, ".git/worktrees/w/config.worktree": true,
		".git/info/attributes": true, ".git/info/exclude": false, "bare.git/config": true,
		"bare.git/hooks/update": true, "any/hooks/update": true,
		".envrc": true, "sub/.envrc": true, ".bashrc": true, ".zshenv": true, ".profile": true, ".vimrc": true, ".npmrc": true,
		"Makefile": false, "makefile": false, "package.json": false, "config": false, "src/config": false, "hooks.go": false, "envrc": false,
		".github/workflows/ci.yml": true, ".github/CODEOWNERS": false, "x/.vscode/tasks.json": true, ".husky/pre-push": true, ".ssh/rc": true,
		".config/systemd/user/x.service": true, "lib/site.pth": true, "lib/sitecustomize.py": true, "authorized_keys": true, "main.go": false,
		"README.md": false, ".gitignore": false, ".gitattributes": false,
		".hg/hgrc": true, "sub/.hg/hgrc": true, ".hg/hgrc-not-shared": true, ".hg/sharedpath": true,
		".jj/repo/config.toml": true, ".hg/store/00changelog.i": false,
		".git/rebase-merge/git-rebase-todo": true, ".git/sequencer/todo": true, ".git/rebase-merge/done": false,
		".lefthook.yml": true, "lefthook.yaml": true, "lefthook-local.yml": true, ".lefthook/pre-push/x": true,
		".git-hooks/pre-push": true,
		".lintstagedrc":       true, ".lintstagedrc.json": true, "lint-staged.config.js": true, ".simple-git-hooks.json": true,
		".travis.yml": true, "azure-pipelines.yml": true, "bitbucket-pipelines.yml": true, "Jenkinsfile": true,
		".gitea/workflows/x.yml":   true,
		".forgejo/workflows/x.yml": true, ".woodpecker.yml": true, ".buildkite/pipeline.yml": true, ".drone.yml": true,
		"x.code-workspace": true, ".devcontainer.json": true, ".gitpod.yml": true, ".zed/tasks.json": true, ".nvim.lua": true,
		".emacs.d/init.el": true, ".config/emacs/init.el": true, ".dir-locals-2.el": true,
		".cargo/config.toml": true, "sub/.cargo/config": true, ".cargo/registry/x": false, ".mvn/jvm.config": true, ".bazelrc": true,
		".gradle/init.d/x.gradle": true, ".gradle/caches/x": false, "mise.toml": true, ".mise/config.toml": true,
		".config/mise/config.toml": true,
		".ghci":                    true, ".iex.exs": true, ".erlang": true, ".sqliterc": true, ".psqlrc": true,
		".tmux.conf": true, ".xsessionrc": true,
		"etc/profile.d/x.sh": true, "etc/init.d/x": true, "systemd/user/x.service": true, "spool/cron/ann": true, "anacrontab": true,
		"Library/LaunchAgents/x.plist": true, ".local/share/dbus-1/services/x.service": true, ".kube/config": true, ".aws/config": true,
		".docker/config.json": true, ".docker/cli-plugins/x": true, ".gemini/settings.json": true, ".codex/config.toml": true,
		"conftest.py": false, "setup.py": false, "pyproject.toml": false, "docker-compose.yml": false,
	} {
		require.Equal(t, want, RunsLater(path), path)
	}
	for _, row := range []struct {
		c    Change
		want bool
	}{
		{Change{Path: ".git", Type: File, Kind: Created}, true},
		{Change{Path: "x/.git", Type: Link, Kind: Changed}, true},
		{Change{Path: ".git", Type: Folder, Kind: Created}, false},
		{Change{Path: ".vscode", Type: Link, Kind: Created}, true},
		{Change{Path: ".github", Type: Link, Kind: Created}, true},
		{Change{Path: "home/.config", Type: Link, Kind: Created}, true},
		{Change{Path: ".local", Type: Link, Kind: Created}, true},
		{Change{Path: ".hg", Type: Link, Kind: Created}, true},
		{Change{Path: "config", Type: Link, Kind: Created}, false},
		{Change{Path: "share", Type: Link, Kind: Created}, false},
		{Change{Path: ".envrc", Kind: Deleted, Was: File}, false},
		{Change{Path: ".envrc", Type: File, Was: File, Kind: Touched}, false},
		{Change{Path: ".envrc", Type: File, Was: File, Kind: Attributes}, true},
		{Change{Path: ".", Type: Folder, Kind: Attributes}, false},
	} {
		require.Equal(t, row.want, runsLater(row.c), "%+v", row.c)
	}
}

// What git itself writes into a new repository is plain; what names a program, another file
// or a helper is not, nor is what is spelt so that git may read it otherwise.
func TestPlainGitConfig(t *testing.T) {
	const cloned = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n" +
		"[remote \"origin\"]\n\turl = https://git.example/a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n" +
		"[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n"
	for text, want := range map[string]bool{
		"": true, cloned: true, "[user]\nname = Ann\nemail = ann@git.example\n": true, "[CORE]\nBare=false": true,
		"[submodule]\nactive = .\n": true, "[remote \"o\"]\nurl = git@git.example:a/b.git\n": true,
		cloned + "[core]\nhooksPath = x\n": false, "[core]\nfsmonitor = ./x\n": false, "[core]\nsshCommand = " +
			"x\n": false, "[core]\npager = x\n": false,
		"[core]\neditor = x\n": false, "[core]\nattributesFile = x\n": false, "[core]\nworktree = /\n": false, "[core]\naskPass = x\n": false,
		"[core]\ngitProxy = x\n": false, "[filter \"x\"]\nclean = x\n": false, "[alias]\nst = !x\n": false, "[include]\npath = x\n": false,
		"[includeIf \"gitdir:/\"]\npath = x\n": false, "[credential]\nhelper = !x\n": false, "[diff]\nexternal = x\n": false,
		"[diff \"x\"]\ntextconv = x\n": false, "[merge \"x\"]\ndriver = x\n": false, "[gpg]\nprogram = " +
			"x\n": false, "[sequence]\neditor = x\n": false,
		"[submodule \"x\"]\nupdate = !x\n": false, "[remote \"o\"]\nurl = ext::sh -c x\n": false, "[remote \"o\"]\nurl = -x\n": false,
		"[remote \"o\"]\nuploadpack = x\n": false, "[remote \"o\"]\nvcs = x\n": false, "[branch \"b\"]\nremote = ext::x\n": false,
		"[extensions]\nworktreeConfig = true\n": false, "[url \"ext::x\"]\ninsteadOf = h\n": false, "[uploadpack]\npackObjectsHook = x\n": false,
		"[core] hooksPath = x\n": false, "[core]\nbare = \\\nfalse\n": false, "[core.x]\nbare = false\n": false, "[core]\nbare\n": false,
		"# a comment\n": false, "[core]\nbare = \"false\"\n": false, "[core]\rhooksPath = x\n": false, "\ufeff[core]\nbare = false\n": false,
		"bare = false\n": false, "[core]\nbare = false\x00\n": false,
	} {
		require.Equal(t, want, isPlainGitConfig(text), "%q", text)
	}
}

// A name is shown so that it can't pass for another or for the text around it.
func TestShow(t *testing.T) {
	for name, want := range map[string]string{
		"a/b c.txt": "a/b c.txt", "größe": "größe", "a\nb": `"a\nb"`, "a\x1b[2Jb": `"a\x1b[2Jb"`, "a\xff": `"a\xff"`,
		" a": `" a"`, "a ": `"a "`,
		"a\u202eb": `"a\u202eb"`, `a"b`: `"a\"b"`, `a\b`: `"a\\b"`, "a\u00a0": `"a\u00a0"`,
		"a\u00a0b": `"a\u00a0b"`, "a\u2003b": `"a\u2003b"`, "a\u3164": `"a\u3164"`, "a\u2800b": `"a\u2800b"`, "a\ufe0f": `"a\ufe0f"`,
		"e\u0301": "e\u0301", "e\u0301\u0301\u0301": `"e\u0301\u0301\u0301"`, "a\ufffdb": `"a\ufffdb"`,
	} {
		require.Equal(t, want, Change{Path: name}.Show())
	}
}

// drawChange draws any change that a listing could make.
func drawChange(t *rapid.T) Change {
	types := []Type{None, File, Folder, Link, Socket, Pipe, Device}
	word := rapid.SampledFrom([]string{"", strings.Repeat("0a", 32)})
	part := rapid.Custom(func(t *rapid.T) string {
		raw := rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "name")
		name := strings.NewReplacer("/", "_", "\x00", "_").Replace(string(raw))
		if name == "." || name == ".." {
			return "dots"
		}
		return name
	})
	return Change{
		Root: rapid.IntRange(0, 3).Draw(t, "root"), Path: strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "path"), "/"),
		Kind: rapid.SampledFrom([]Kind{Created, Changed, Deleted, Replaced, Attributes, Touched, kept}).Draw(t, "kind"),
		Type: rapid.SampledFrom(types).Draw(t, "type"), Was: rapid.SampledFrom(types).Draw(t, "was"),
		Mode: rapid.Uint32Range(0, 0o7777).Draw(t, "mode"), WasMode: rapid.Uint32Range(0, 0o7777).Draw(t, "wasmode"),
		Size: rapid.Int64Range(0, 1<<62).Draw(t, "size"), WasSize: rapid.Int64Range(0, 1<<62).Draw(t, "wassize"),
		Lost: rapid.IntRange(0, 1<<40).Draw(t, "lost"), SHA256: word.Draw(t, "sum"), Listing: word.Draw(t, "listing"),
		Attrs:  word.Draw(t, "attrs"),
		Target: string(rapid.SliceOfN(rapid.Byte(), 0, 30).Draw(t, "target")), HardLinked: rapid.Bool().Draw(t, "linked"),
		Stripped: rapid.SampledFrom([]string{"", "setuid", "setuid,setgid"}).Draw(t, "stripped"),
	}
}

// A journal reads back as it was written, whatever the names are.
func TestJournal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := journal{digest: "sha256:" + strings.Repeat("0", 64), left: rapid.IntRange(0, 9).Draw(t, "left")}
		for range rapid.IntRange(0, 5).Draw(t, "steps") {
			j.steps = append(j.steps, step{Change: drawChange(t), upper: rapid.Uint64().Draw(t, "upper"),
				was: seen{rapid.Uint64().Draw(t, "ino"), rapid.Int64().Draw(t, "ctime")}})
		}
		got, err := decodeJournal(encodeJournal(j), 4)
		require.NoError(t, err)
		require.Equal(t, j, got)
		_, err = decodeJournal(encodeJournal(j), 0)
		require.Equal(t, len(j.steps) > 0, err != nil)
	})
}

// A journal of which one byte is other, or which was cut, isn't followed.
func TestDamagedJournal(t *testing.T) {
	raw := encodeJournal(journal{digest: "sha256:00", steps: []step{
		{Change: Change{Path: "a b/\"c", Kind: Created, Type: File, Mode: 0o644, Size: 3}, upper: 7},
		{Change: Change{Path: "d", Kind: Deleted, Was: Folder, Lost: 4}, was: seen{8, 9}},
	}})
	_, err := decodeJournal(raw, 1)
	require.NoError(t, err)
	for i := range raw {
		_, err := decodeJournal(raw[:i], 1)
		require.ErrorIs(t, err, ErrJournal)
		for _, b := range []byte{0, ' ', '\n', raw[i] ^ 1, raw[i] ^ 0x20} {
			if b == raw[i] {
				continue
			}
			other := append([]byte(nil), raw...)
			other[i] = b
			_, err := decodeJournal(other, 1)
			require.ErrorIs(t, err, ErrJournal)
		}
	}
}

// FuzzJournal: whatever is read is what would have been written, and stays in its root.
func FuzzJournal(f *testing.F) {
	f.Add([]byte("created file - 0644 0000 3 0 0 - - - - - false \"a\" \"\""), uint64(1))
	f.Add([]byte("deleted - folder 0000 0755 0 9 2 - aa - - - true \"a/\\x1b\" \"../x\""), uint64(0))
	f.Add([]byte("kept folder folder 0555 0555 0 0 0 - - - - - false \"../etc\" \"\""), uint64(2))
	f.Fuzz(func(t *testing.T, line []byte, ino uint64) {
		if c, err := decodeChange(string(line)); err == nil {
			require.Equal(t, string(line), encodeChange(c))
			require.NotContains(t, strings.Split(c.Path, "/"), "..")
			require.False(t, strings.HasPrefix(c.Path, "/"))
			j := journal{digest: "d", steps: []step{{Change: c, upper: ino}}}
			back, err := decodeJournal(encodeJournal(j), c.Root+1)
			require.Equal(t, c.Refused == "", err == nil)
			if err == nil {
				require.Equal(t, j, back)
			}
		}
		_, err := decodeJournal(line, 1)
		require.ErrorIs(t, err, ErrJournal)
	})
}
