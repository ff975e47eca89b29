package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
