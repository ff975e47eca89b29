package touch

import (
	paths "path"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// destroyers are the programs that a pattern in a command's name is tried
// against.
var destroyers = []string{"rm", "dd", "mkfs", "mkfs.ext4", "mkfs.xfs", "mv", "chmod", "chown", "shred", "wipefs", "find", "kill"}

// destroys looks for the effects of name that can't be undone.
func (s *shell) destroys(name string, args []field) {
	if helps(args) {
		return
	}
	switch name {
	case "rm", "srm", "wipe", "rimraf", "unlink", "shred", "trash", "del", "rd", "rmdir", "grm", "safe-rm":
		s.remove(args, name == "rimraf" || name == "wipe")
	case "trash-put", "trash-cli", "rmtrash", "gvfs-trash", "bleachbit", "gio", "cmake":
		s.trash(name, args)
	case "tar", "gtar", "bsdtar", "zip", "7z", "7za", "7zz", "rar":
		s.archive(name, args)
	case "dd", "gdd":
		s.dd(args)
	case "del-cli", "trash-cli-all":
		s.remove(args, true)
	case "truncate":
		for _, f := range operands(args, "sor") {
			if f.tree {
				s.removeOne(f, true)
			}
		}
	case "zf_rm":
		s.remove(args, false)
	case "chmod", "chown", "chgrp", "setfacl", "chattr", "chcon":
		s.chmod(name, args)
	case "mv":
		s.move(args)
	case "kill", "killall5":
		s.kill(name, args)
	case "rsync":
		s.rsync(args)
	case "git":
		s.gitCleans(args)
	case "lvremove", "vgremove", "pvremove", "zpool", "zfs":
		s.volume(name, args)
	}
	s.disk(name, args)
}

// helps reports whether a program only says how it is used. Behind an operand
// or "--" the word may be a file's name.
func helps(args []field) bool {
	for _, a := range args {
		switch {
		case a.text == "--help" || a.text == "--version":
			return true
		case a.text == "--" || a.text == "" || a.text[0] != '-' || a.unknown:
			return false
		}
	}
	return false
}

func has(args []field, option string) bool {
	return slices.ContainsFunc(args, func(f field) bool { return f.text == option })
}

// flag reports whether a short option, alone or in a cluster, or a long one,
// whole or abbreviated, is given.
func flag(args []field, short string, long ...string) bool {
	for _, a := range args {
		t := a.text
		if t == "--" {
			return false
		}
		if name, ok := strings.CutPrefix(t, "--"); ok {
			name, _, _ = strings.Cut(name, "=")
			if len(name) > 0 && abbreviates(name, long) {
				return true
			}
			continue
		}
		if len(t) > 1 && t[0] == '-' && strings.ContainsAny(t[1:], short) {
			return true
		}
	}
	return false
}

func recursive(args []field) bool { return flag(args, "rR", "recursive") }

var octal = regexp.MustCompile(`^[0-7]{1,5}$`)

// opens reports whether a mode lets everybody write, or the group do as the
// owner does.
func opens(mode string) bool {
	if octal.MatchString(mode) {
		m := strings.TrimLeft(mode, "0")
		last := mode[len(mode)-1]
		return last&2 != 0 || len(m) == 3 && strings.HasPrefix(m, "77")
	}
	for part := range strings.SplitSeq(mode, ",") {
		who, what, ok := cutAny(part, "+=")
		if ok && strings.Contains(what, "w") && (who == "" || strings.ContainsAny(who, "ao")) {
			return true
		}
	}
	return false
}

func cutAny(s, chars string) (string, string, bool) {
	i := strings.IndexAny(s, chars)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// owns reports whether a home folder is only given to the one it is named
// after, the usual repair.
func (s *shell) owns(owner string, f field, k path.Tree) bool {
	user, _, _ := cutAny(owner, ":.")
	for _, p := range s.resolve(f.text) {
		p = strings.TrimSuffix(p, "/*")
		if k != path.HomeTree || paths.Base(p) != user {
			return false
		}
	}
	return true
}

func (s *shell) move(args []field) {
	from, to := sources(args, "tS")
	gone := slices.Contains(s.resolve(to.text), "/dev/null")
	for _, f := range from {
		k, entries := s.tree(f.text)
		if gone && s.wipes(f) {
			s.doubt(ProjectWipe)
		}
		switch {
		case k == path.NoTree:
		case k == path.HomeTree && entries && !gone:
		default:
			s.danger(MoveTree)
		}
	}
	if to.text != "" && s.onDevice(to) {
		s.danger(DeviceWrite)
	}
}

// sources splits the operands of cp, mv and the like from where they go.
func sources(args []field, values string) (from []field, to field) {
	ops := operands(args, values)
	for i, a := range args {
		t := a.text
		switch {
		case t == "-t" || t == "--target-directory":
			if i+1 < len(args) {
				return ops, args[i+1]
			}
		case strings.HasPrefix(t, "--target-directory="):
			_, dir, _ := strings.Cut(t, "=")
			return ops, field{text: dir, bare: dir}
		}
	}
	if len(ops) < 2 {
		return ops, field{}
	}
	return ops[:len(ops)-1], ops[len(ops)-1]
}

func (s *shell) kill(name string, args []field) {
	if name == "killall5" {
		s.danger(KillAll)
		return
	}
	for i, a := range args {
		sole := len(args) == 1
		signalled := i > 0 && args[i-1].text != "-s" && args[i-1].text != "-n" || i > 0 && args[0].text == "--"
		if a.text == "-1" && (sole || signalled) {
			s.danger(KillAll)
		}
	}
}

func (s *shell) volume(name string, args []field) {
	ops := operands(args, "")
	destroy := strings.HasPrefix(name, "lv") || strings.HasPrefix(name, "vg") || strings.HasPrefix(name, "pv")
	if !destroy && len(ops) > 0 {
		destroy = ops[0].text == "destroy" || ops[0].text == "labelclear"
		ops = ops[1:]
	}
	if !destroy || len(ops) == 0 || flag(args, "n", "test", "dry-run") {
		return
	}
	if flag(args, "fyrR", "force", "yes") {
		s.danger(VolumeDestroy)
		return
	}
	s.doubt(VolumeRemoval)
}
