package touch

import (
	"strings"
)

// use says what a program does to the files among its operands.
type use struct {
	access Access
	skip   int    // operands before the files: a pattern, a mode
	values string // short options that take a value
	copies bool   // the last operand is written, the others read
}

var uses = map[string]use{
	"echo": {}, "printf": {}, "true": {}, "false": {}, ":": {}, "export": {}, "man": {}, "which": {}, "type": {}, "whereis": {}, "hash": {},
	"grep": {access: Read, skip: 1, values: "ABCmd"}, "egrep": {access: Read, skip: 1, values: "ABCmd"}, "fgrep": {access: Read, skip: 1, values: "ABCmd"},
	"rg": {access: Read, skip: 1, values: "ABCmgtT"}, "ag": {access: Read, skip: 1}, "ack": {access: Read, skip: 1}, "zgrep": {access: Read, skip: 1},
	"sed": {access: Read, skip: 1}, "jq": {access: Read, skip: 1}, "yq": {access: Read, skip: 1}, "tr": {},
	"cp": {access: Read, copies: true, values: "tS"}, "ln": {access: Read, copies: true, values: "tS"}, "install": {access: Read, copies: true, values: "tSmgo"},
	"mv": {access: Read | Delete, copies: true, values: "tS"}, "scp": {access: Read, copies: true, values: "cFiJloPSX"}, "rsync": {access: Read, copies: true, values: "eBfTM"},
	"chmod": {access: Write, skip: 1}, "chown": {access: Write, skip: 1}, "chgrp": {access: Write, skip: 1}, "chattr": {access: Write, skip: 1},
	"tar": {access: Read}, "zip": {access: Read}, "7z": {access: Read, skip: 1}, "7za": {access: Read, skip: 1}, "rar": {access: Read, skip: 1}, "vi": {access: Read | Write}, "vim": {access: Read | Write},
	"nano": {access: Read | Write}, "emacs": {access: Read | Write}, "ed": {access: Read | Write}, "ex": {access: Read | Write},
}

const (
	readers = "cat less more head tail tac nl od xxd hexdump strings base64 base32 md5sum sha1sum sha224sum sha256sum sha384sum sha512sum " +
		"cksum sum wc sort uniq cut paste join comm file stat diff cmp sdiff bat batcat view pr fold fmt rev column look ls dir tree du " +
		"realpath readlink basename gzip gunzip zcat bzip2 bzcat xz xzcat zstd gpg openssl dd split csplit iconv expand unexpand " +
		"source getfacl lsattr lsof exa eza lolcat most pygmentize hd cpio pax ar unzip"
	writers  = "tee touch mkdir truncate mkfifo mknod sponge patch setfacl"
	deleters = "rm unlink rmdir shred srm wipe rimraf trash"
)

var plainUses = tabulate(map[Access]string{Read: readers, Write: writers, Delete: deleters})

func tabulate(lists map[Access]string) map[string]use {
	out := map[string]use{}
	for a, list := range lists {
		for name := range strings.FieldsSeq(list) {
			out[name] = use{access: a}
		}
	}
	return out
}

func useOf(name string) (use, bool) {
	if u, ok := uses[name]; ok {
		return u, true
	}
	u, ok := plainUses[name]
	return u, ok
}

// effects records what one simple command touches.
func (s *shell) effects(name string, args []field) {
	s.destroys(name, args)
	u, known := s.useOf(name)
	trees, lister := s.about(name)&inTrees != 0, s.about(name)&inLists != 0
	deep := recursive(args) || trees && digs[name] || flag(args, "a") && (name == "cp" || name == "rsync")
	switch {
	case trees && containers[name] && s.containerMounts(args):
	case trees && tars[name]:
		s.tar(args)
	case !known:
		s.mentions(args)
	case name == "dd":
		s.ddPaths(args)
	case u.copies:
		from, to := sources(args, u.values)
		away := (name == "scp" || name == "rsync") && remote(to.text)
		for _, f := range from {
			s.pathAs(f, Path{Access: u.access, Recursive: deep, Sent: away})
		}
		if to.text != "" {
			s.path(to, Write)
		}
		s.options(args)
	case u.access != 0:
		ops := operands(args, u.values)
		skip := u.skip
		if skip > 0 && name != "chmod" && name != "chown" && flag(args, "ef", "regexp", "expression", "file") {
			skip = 0
		}
		a := u.access
		if name == "sed" && flag(args, "i", "in-place") {
			a |= Write
		}
		if len(ops) == 0 && lister && listers[name] {
			s.pathAs(field{text: ".", bare: "."}, Path{Access: Read, Names: lists[name]}) // where it was changed to
		}
		for _, f := range ops[min(skip, len(ops)):] {
			s.pathAs(f, Path{Access: a, Recursive: deep, Names: lister && lists[name]})
		}
		s.options(args)
	}
	s.network(name, args)
}

func (s *shell) ddPaths(args []field) {
	for _, a := range args {
		for prefix, access := range map[string]Access{"if=": Read, "of=": Write} {
			if p, ok := strings.CutPrefix(a.text, prefix); ok {
				s.path(field{text: p, bare: strings.TrimPrefix(a.bare, prefix), unknown: a.unknown, glob: a.glob}, access)
			}
		}
	}
}

// options looks for paths among a known program's options.
func (s *shell) options(args []field) {
	for _, a := range args {
		if len(a.text) > 1 && a.text[0] == '-' {
			s.mentions([]field{a})
		}
	}
}

// mentions records the arguments that look like paths, also behind "=", ":",
// "@" or a short option.
func (s *shell) mentions(args []field) {
	for _, a := range args {
		if strings.ContainsAny(a.text, " \t\n") && !strings.HasPrefix(a.text, "/") && !strings.HasPrefix(a.text, "~") {
			continue
		}
		if strings.Contains(a.text, "://") {
			s.reach(a.text, false)
			if hasFold(a.text, "file:") {
				s.path(a, Read)
			}
			continue
		}
		if i := strings.IndexByte(a.text, ':'); i > 1 && strings.IndexByte("/~.", a.text[0]) >= 0 {
			s.mention(field{text: a.text[:i], bare: a.text[:i], unknown: a.unknown, home: a.home}) // HERE:THERE
		}
		if !strings.HasPrefix(a.text, "-") && s.mention(a) {
			continue
		}
		if t := a.text; len(t) > 2 && t[0] == '-' && t[1] != '-' {
			s.mention(a.cut(2))
		}
		for i, n := 0, 0; i+1 < len(a.text) && n < 8; i++ {
			if strings.IndexByte("=:@,", a.text[i]) >= 0 {
				s.mention(a.cut(i + 1))
				n++
			}
		}
	}
}

// cut returns the field from byte i on; what follows a separator ends there.
func (f field) cut(i int) field {
	t := f.text[i:]
	if j := strings.IndexAny(t, ",:;"); j > 0 {
		t = t[:j]
	}
	return field{text: t, bare: t, unknown: f.unknown, glob: f.glob}
}

func (s *shell) mention(f field) bool {
	t := f.text
	if strings.HasPrefix(t, "/") || strings.HasPrefix(t, "~") || strings.HasPrefix(t, ".") && len(t) > 2 ||
		strings.Contains(t, "/.") || strings.Contains(t, "../") {
		s.path(f, Mention)
		return true
	}
	return false
}

func (s *shell) path(f field, a Access) { s.pathAs(f, Path{Access: a}) }

func (s *shell) pathAs(f field, p Path) {
	if f.text == "" || f.blank || f.proc != nil || f.text == "-" || len(f.text) > maxPath*4 {
		return
	}
	if i := strings.Index(f.text, ":"); i > 1 && !strings.Contains(f.text[:i], "/") && p.Access != Mention {
		s.path(field{text: f.text[i+1:], bare: f.text[i+1:]}, Mention) // host:path is elsewhere
	}
	p.Raw, p.Arg, p.Shell, p.Glob, p.Home = f.text, s.arg, true, f.glob, f.home || ownHome(f.text) || !strings.HasPrefix(f.text, "/") && s.inHome()
	p.Sent, p.Recursive = p.Sent || f.sent, p.Recursive || f.tree
	clean := s.resolve(f.text)
	if len(f.text) > 2 && f.text[1] == ':' && strings.Contains(f.text, `\`) {
		clean = s.resolve(strings.ReplaceAll(f.text, `\`, "/"))
	}
	if hasFold(f.text, "file:") && strings.Contains(f.text, "%") {
		clean = appendNew(clean, Clean(f.text, s.c.env)) // a client undoes the escapes
	}
	if f.unknown && f.bare != "" {
		for _, b := range s.resolve(f.bare) {
			clean = appendNew(clean, b)
		}
	}
	for i := 0; i < len(clean) && i < 16; i++ {
		if r := throughProc(clean[i]); r != clean[i] {
			clean = appendNew(clean, lexical(r, s.c.env, false))
		}
		p.Clean, p.Real = clean[i], s.c.links.follow(clean[i])
		s.c.touch.Paths = append(s.c.touch.Paths, p)
	}
}

// ownHome reports whether a path is spelt from the home folder of whoever runs
// it: "~" or "~/x", not "~bob".
func ownHome(text string) bool { return text == "~" || strings.HasPrefix(text, "~/") }

// inHome reports whether the folder was changed to the home folder by "cd".
func (s *shell) inHome() bool {
	v := s.def.vars["PWD"]
	return len(v) == 1 && len(v[0]) > 0 && v[0][0].home
}

// reach records the host in a URL or, with bare, in user@host:path.
func (s *shell) reach(text string, bare bool) {
	if s.quiet {
		return
	}
	h := Host{Arg: s.arg, Shell: true}
	found := s.c.url(text, false, h)
	s.c.urls(text, h)
	if found || !bare || digits(text) && len(text) < 8 { // a port, a number of seconds
		return
	}
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		text = text[i+1:]
	}
	if !strings.HasPrefix(text, "[") && strings.Count(text, ":") < 2 {
		text, _, _ = strings.Cut(text, ":")
	}
	s.c.url(text, true, h)
}

// network records the hosts that the usual clients go to.
func (s *shell) network(name string, args []field) {
	switch name {
	case "curl", "wget", "http", "https", "xh", "aria2c", "ping", "telnet", "nc", "ncat", "netcat", "ftp", "sftp", "dig", "nslookup", "whois":
		for _, f := range operands(args, "AbcCdDeEFHKmoQrtTuUwxXYzOPQ") {
			if f.unknown {
				continue
			}
			if name == "curl" || name == "wget" || strings.Contains(f.text, "://") {
				// A number that is no address but an option's value stays out.
				_, z := hostName(strings.SplitN(f.text, "/", 2)[0])
				s.reach(f.text, strings.Contains(f.text, ".") || z == Metadata || hasFold(f.text, "localhost"))
			} else {
				s.reach(f.text, true)
			}
		}
		s.transfer(name, args)
		s.metadata(args)
	case "scp", "rsync":
		for _, f := range operands(args, uses[name].values) {
			if i := strings.IndexByte(f.text, ':'); i > 0 && !strings.Contains(f.text[:i], "/") {
				s.reach(f.text, true)
			}
		}
	}
}
