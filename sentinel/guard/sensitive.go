package guard

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// The closed list of places that a person is asked about.
const (
	PlaceHistory  = "shell_history"   // what somebody typed, passwords among it
	PlaceMail     = "mail_spool"      // other people's letters
	PlacePolicy   = "account_policy"  // who may log in, and how; backups of accounts
	PlaceState    = "stored_state"    // state of infrastructure, with its secrets
	PlaceLater    = "persistence"     // what runs by itself later: cron, units, hooks
	PlacePrograms = "system_programs" // the programs and libraries that others run
	PlaceSystem   = "system_delete"   // a file of the system that is removed
	PlaceSent     = "file_sent"       // a file of the system or a dot-file of a home that leaves the machine
	PlaceMounts   = "system_start"    // what a machine needs to start and to find others
	PlacePersonal = "personal_delete" // a whole folder of what people or services keep
)

var (
	// watched are asked about however they are touched.
	watched = joinPlaces(
		placesAtTop(PlacePolicy, "etc/security", "usr/share/base-passwd", "var/lib/pam", "var/backups", "var/lib/accountsservice",
			"var/lib/cloud/instance", "var/lib/sss"),
		placesAtTop(PlaceMail, "var/mail", "var/spool/mail", "var/vmail", "var/spool/mqueue"),
		placesAnywhere(PlaceState, "terraform.tfstate…"),
		placesAnywhere(PlaceHistory, ".bash_history", ".zsh_history", ".zhistory", ".sh_history", ".ash_history",
			".python_history", ".node_repl_history", ".mysql_history", ".psql_history",
			".sqlite_history", ".rediscli_history", ".mongosh/mongosh_repl_history", ".dbshell", ".lesshst",
			".viminfo", ".wget-hsts", ".local/share/fish/fish_history", "consolehost_history.txt"),
	)
	// later are asked about when they are written.
	later = joinPlaces(
		placesAtTop(PlaceLater, "etc/cron…", "etc/anacrontab", "var/spool/cron", "var/spool/at", "etc/systemd",
			"usr/lib/systemd", "lib/systemd", "run/systemd", "etc/init.d", "etc/rc.d", "etc/rc0.d", "etc/rc1.d", "etc/rc2.d",
			"etc/rc3.d", "etc/rc4.d", "etc/rc5.d", "etc/rc6.d", "etc/rcs.d", "etc/rc.local", "etc/inittab", "etc/pam.d",
			"etc/pam.conf", "etc/udev", "etc/xdg/autostart", "etc/apt/apt.conf.d", "etc/ld.so.conf…", "etc/modules…",
			"etc/update-motd.d", "etc/nsswitch.conf", "etc/login.defs"),
		placesAnywhere(PlaceLater, ".config/systemd", ".config/autostart", "library/launchagents", "library/launchdaemons",
			".git/hooks", "start menu/programs/startup",
			".git/config", ".envrc", ".vscode/tasks.json", ".mcp.json", ".config/pip", ".pip/pip.conf",
			".local/share/systemd", ".local/share/autostart", ".config/git/config", ".config/direnv", ".config/git/hooks"),
		placesAtTop(PlaceLater, "proc/sys/kernel/core_pattern", "proc/sys/kernel/modprobe", "proc/sys/kernel/hotplug"),
		placesAtTop(PlaceMounts, "etc/fstab", "etc/crypttab", "etc/default/grub…", "etc/grub.d", "etc/mdadm", "etc/lvm"),
		placesAtTop(PlaceLater, "etc/pip.conf", "etc/npmrc", "etc/gitconfig", "etc/crontab"),
		placesAtTop(PlacePrograms, "bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr/bin", "usr/sbin", "usr/lib",
			"usr/lib32", "usr/lib64", "usr/libexec", "windows/system32"),
	)
	// startupTools are the files in a home folder by which tools run something
	// at every start.
	startupTools = placesAnywhere(PlaceLater, ".gitconfig", ".gdbinit", ".direnvrc", ".cargo/config.toml", ".cargo/config",
		".pythonrc", ".pythonstartup")
	// startup are the files that every shell runs first, in a home folder and
	// for all.
	startupHome = placesAnywhere(PlaceStartup, ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
		".bashrc.d", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
		".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc",
		".pam_environment", ".config/fish", ".config/environment.d", "documents/powershell", ".config/powershell", ".oh-my-zsh")
	startupAll = placesAtTop(PlaceStartup, "etc/profile", "etc/profile.d", "etc/bash.bashrc", "etc/bashrc",
		"etc/bash.bash_logout", "etc/zsh", "etc/zshrc", "etc/zshenv", "etc/zprofile", "etc/csh.cshrc", "etc/csh.login",
		"etc/environment", "etc/environment.d", "etc/fish", "etc/skel")
	// homeTokens count in a home folder alone: projects keep files of the same
	// name without a secret in them.
	homeTokens = placesAnywhere(PlaceToken, ".gradle/gradle.properties", ".m2/settings.xml", ".npmrc", ".yarnrc.yml",
		".terraformrc", ".condarc", ".gitlab-token", ".bunfig.toml")
	// system are the trees whose files are not the working user's to remove.
	system = placesAtTop(PlaceSystem, "etc", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "var/log",
		"var/lib", "var/db", "var/spool", "library", "system", "windows", "program files", "program files (x86)")
	// users are parts of those that people fill themselves.
	users = placesAtTop(PlaceSystem, "usr/local", "usr/src", "usr/home", "var/lib/docker/tmp")
	// personal are the folders of a home that hold a person's own work.
	personal = []string{"documents", "desktop", "pictures", "photos", "music", "videos", "movies", "mail",
		".mail", ".thunderbird", ".config", ".local"}
	// kept are the folders at the top of the tree whose own folders hold data.
	kept = []string{"srv", "data", "backup", "backups", "mnt", "media", "volumes", "export", "exports",
		"storage", "sdcard", "nas", "archive", "archives"}
	// rotated are those of them whose own folders are old copies that daily work removes.
	rotated = []string{"backup", "backups", "archive", "archives"}
	// leaving are the trees whose files no ordinary call sends to others.
	leaving = placesAtTop(PlaceSent, "etc", "proc", "var", "boot", "usr/share/base-passwd", "run", "sys")
)

// findHome returns the home folder of the user who runs the calls, as touch resolves it.
func findHome(env touch.Env) string { return touch.Lexical("~", env) }

// cutHome returns what of parts follows a home folder.
func (g *Guard) cutHome(n string, parts []string) []string {
	at := -1
	switch {
	case isWithin(n, g.home) && g.home != "/":
		at = len(splitPath(g.home))
	case len(parts) > 1 && (parts[0] == "home" || parts[0] == "users"):
		at = 2
	case len(parts) > 0 && parts[0] == "root":
		at = 1
	case len(parts) > 1 && parts[0] == "var" && parts[1] == "root":
		at = 2
	}
	if at < 0 || at >= len(parts) {
		return nil
	}
	return parts[at:]
}

// findSensitive returns the place beyond the core that n, a name of p with these parts, lies
// in, and whether a person may allow it.
func (g *Guard) findSensitive(n string, parts []string, p touch.Path, effect skills.Effect) (signal string, ask bool) {
	if len(parts) == 0 {
		return "", false
	}
	home := g.cutHome(n, parts)
	starts := func(list []place) string {
		for i := range list {
			if len(home) >= len(list[i].at) && list[i].beginsPath(home) {
				return list[i].signal
			}
		}
		return ""
	}
	writes := p.Access&(touch.Write|touch.Delete) != 0 || p.Access.Has(touch.Mention) && !p.Shell && effect != skills.Read
	if s := starts(homeTokens); s != "" {
		return s, false
	}
	if writes {
		if s := starts(startupHome); s != "" {
			// People change their own every day; a stranger's is left alone.
			return s, p.Shell && g.home != "/" && isWithin(n, g.home)
		}
		if s := starts(startupTools); s != "" {
			return s, true
		}
		if s := startupIndex.findSignal(parts, ""); s != "" {
			return s, false
		}
		if s := laterIndex.findSignal(parts, ""); s != "" {
			return s, true
		}
	}
	if s := watchedIndex.findSignal(parts, ""); s != "" && !(p.Shell && p.Access == touch.Mention) {
		return s, true
	}
	return g.findOutgoing(parts, home, p), true
}

// findOutgoing looks at what a command line removes from the system, puts into its
// top, or sends away.
func (g *Guard) findOutgoing(parts, home []string, p touch.Path) string {
	if !p.Shell {
		return ""
	}
	if p.Access.Has(touch.Delete) && systemIndex.findSignal(parts, "") != "" && usersIndex.findSignal(parts, "") == "" {
		return PlaceSystem
	}
	if g.losesFolder(parts, home, p) {
		return PlacePersonal
	}
	if p.Access.Has(touch.Write) && len(parts) == 2 && parts[0] == "usr" && !slices.Contains([]string{"local", "src"}, parts[1]) {
		return PlacePrograms
	}
	if !p.Sent {
		return ""
	}
	last := parts[len(parts)-1]
	if s := leavingIndex.findSignal(parts, ""); s != "" || len(home) > 0 && strings.HasPrefix(home[0], ".") ||
		last == ".env" || strings.HasPrefix(last, ".env.") {
		return PlaceSent
	}
	return ""
}

// losesFolder reports whether a command line removes a whole folder that a person
// fills, in a home, or one that a service does, near the top of the tree. What
// lies deeper is daily work, and a move keeps what it moves.
func (g *Guard) losesFolder(parts, home []string, p touch.Path) bool {
	if !p.Recursive || !p.Access.Has(touch.Delete) || p.Access.Has(touch.Read) || len(parts) == 0 {
		return false
	}
	if len(home) == 1 {
		return slices.Contains(personal, home[0])
	}
	if slices.ContainsFunc(g.roots, func(r string) bool { return isWithin("/"+strings.Join(parts, "/"), foldCase(r)) }) {
		return false // where agents are meant to work
	}
	if len(parts) == 2 && slices.Contains(rotated, parts[0]) {
		return false
	}
	return len(parts) <= 2 && (slices.Contains(kept, parts[0]) || len(parts) == 2 && parts[0] == "var" && parts[1] == "www")
}
