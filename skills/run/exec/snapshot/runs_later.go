package snapshot

import (
	"path"
	"slices"
	"strings"
)

// laterFiles are names of files that programs outside of the sandbox run, or take
// commands from, without being told to. What a person starts by name, such as a
// Makefile, isn't among them. Names are compared without regard to case.
var laterFiles = []string{
	".envrc", ".mise.toml", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
	".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".xinitrc", ".xprofile", ".xsession",
	".gitconfig", ".gitmodules", ".hgrc", ".vimrc", ".gvimrc", ".exrc", ".nvimrc", ".emacs", ".dir-locals.el", ".gdbinit", ".lldbinit",
	".pdbrc", ".rprofile", ".irbrc", ".pryrc", ".inputrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pythonstartup",
	"sitecustomize.py", "usercustomize.py", ".pre-commit-config.yaml", "lefthook.yml", ".overcommit.yml", ".mcp.json", ".gitlab-ci.yml",
	"crontab", ".rhosts", ".k5login", ".pam_environment", "authorized_keys", "authorized_keys2",
	"hgrc", "hgrc-not-shared", "git-rebase-todo", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml",
	"lefthook-local.yml", ".lintstagedrc",
	"lint-staged.config.js", "lint-staged.config.cjs", "lint-staged.config.mjs", ".simple-git-hooks.json", ".simple-git-hooks.js",
	".simple-git-hooks.cjs", ".travis.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml", "jenkinsfile",
	".drone.yml", ".woodpecker.yml",
	".woodpecker.yaml", ".cirrus.yml", "appveyor.yml", ".appveyor.yml", ".devcontainer.json", ".gitpod.yml",
	".nvim.lua", ".dir-locals-2.el",
	".direnvrc", ".bazelrc", "mise.toml", ".autoenv", ".autoenv.zsh", ".ghci", ".iex.exs", ".erlang", ".ocamlinit",
	".sbclrc", ".byebugrc",
	".sqliterc", ".psqlrc", ".tmux.conf", ".screenrc", ".xsessionrc", ".xserverrc", "anacrontab", "rc.local",
	"ld.so.preload", ".terraformrc",
}

// laterPaths are such files by their last parts, where their names alone say too little.
var laterPaths = []string{
	".hg/sharedpath", ".jj/repo/config.toml", ".git/sequencer/todo", ".cargo/config", ".cargo/config.toml",
	".gradle/init.gradle", ".kube/config",
	".aws/config", ".docker/config.json",
}

// laterEndings are how names of such files end.
var laterEndings = []string{".pth", ".code-workspace"}

// laterFolders are folders, by their last parts, in which such files stand.
var laterFolders = []string{
	".husky", ".githooks", ".github/workflows", ".github/actions", ".circleci", ".vscode", ".idea", ".cursor", ".claude", ".devcontainer",
	".ssh", ".direnv", ".config/git", ".config/fish", ".config/autostart", ".config/systemd", ".config/environment.d", ".config/nvim", ".vim",
	".local/share/systemd", ".local/bin", ".zshrc.d", ".bashrc.d", ".profile.d", "cron.d", "cron.daily", "cron.hourly", "cron.weekly",
	"cron.monthly", ".git-hooks", ".lefthook", ".gitea/workflows", ".forgejo/workflows", ".woodpecker", ".buildkite",
	".zed", ".gemini", ".codex",
	".emacs.d", ".config/emacs", ".config/direnv", ".config/mise", ".mise", ".mvn", ".gradle/init.d",
	".docker/cli-plugins", "profile.d", "init.d",
	"systemd/user", "systemd/system", "spool/cron", ".local/share/dbus-1/services", "library/launchagents", "library/launchdaemons",
}

// RunsLater reports whether others run later, without being asked to, what is written at a
// path of a root.
func RunsLater(rel string) bool {
	rel = strings.ToLower(rel)
	name := path.Base(rel)
	if slices.Contains(laterFiles, name) || strings.HasPrefix(name, ".lintstagedrc.") {
		return true
	}
	for _, end := range laterEndings {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	for _, p := range laterPaths {
		if rel == p || strings.HasSuffix(rel, "/"+p) {
			return true
		}
	}
	for _, f := range laterFolders {
		if strings.HasPrefix(rel, f+"/") || strings.Contains(rel, "/"+f+"/") {
			return true
		}
	}
	return isGitSteering(strings.Split(rel, "/"))
}

// isGitSteering reports whether git takes commands from the file. Such are hooks,
// configuration and attributes of a repository, of its modules and worktrees, and of a bare
// one. A .git that is a file or a link leads git to another repository.
func isGitSteering(parts []string) bool {
	last := len(parts) - 1
	for i, p := range parts {
		if !strings.HasSuffix(p, ".git") {
			continue
		}
		if i == last {
			return false // Its type decides: see runsLater.
		}
		below := parts[i+1:]
		name := parts[last]
		switch {
		case name == "config", name == "config.worktree", name == "commondir", name == "gitdir":
			return true
		case slices.Contains(below, "hooks"):
			return !strings.HasSuffix(name, ".sample")
		case name == "attributes" && slices.Contains(below, "info"):
			return true
		}
	}
	// A bare repository may have any name: its hooks stand beside its objects.
	return last > 0 && parts[last-1] == "hooks" && !strings.HasSuffix(parts[last], ".sample")
}

// runsLater reports whether committing the change writes something that runs later.
func runsLater(c Change) bool {
	if c.Kind == Deleted || c.Kind == Touched || c.Path == "." {
		return false
	}
	if c.Type == Folder {
		return false // What is in it is listed by itself.
	}
	if strings.EqualFold(path.Base(c.Path), ".git") {
		return true
	}
	// A link in place of such a folder lends it another's files.
	return RunsLater(c.Path) || c.Type == Link && (RunsLater(c.Path+"/x") || leadsToLater(c.Path))
}

// leadsToLater reports whether such files stand in folders below one of that name. A link in
// its place then lends them.
func leadsToLater(rel string) bool {
	name := strings.ToLower(path.Base(rel))
	if name == ".hg" {
		return true
	}
	for _, p := range slices.Concat(laterFolders, laterPaths) {
		if first, _, deeper := strings.Cut(p, "/"); deeper && first == name && strings.HasPrefix(first, ".") {
			return true
		}
	}
	return false
}
