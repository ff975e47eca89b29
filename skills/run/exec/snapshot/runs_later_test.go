package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
