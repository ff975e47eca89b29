package touch

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	// absentFile is how the languages of configuration managers remove a file:
	// Puppet's, Chef's.
	absentFile = regexp.MustCompile(`(?s)\b(?:file|tidy)\s*\{\s*["']([^"']+)["'].*?absent|\b(?:directory|file)\s*\(?\s*["']([^"']+)["']\s*\)?.*?:delete`)
	// clientRuns are the programs that a database's own functions start.
	clientRuns = regexp.MustCompile(`(?i)\bedit\s*\([^()]*,\s*'([^']*)'\s*\)|\bedit\s*\([^()]*,\s*"([^"]*)"\s*\)|\bsystem\s*\(\s*'([^']*)'`)
	// downloads is PowerShell that runs what it fetches.
	downloads    = regexp.MustCompile(`(?i)\b(?:iex|invoke-expression)\b[\s\S]*\b(?:iwr|irm|curl|wget|invoke-webrequest|invoke-restmethod|downloadstring|downloaddata|frombase64string)\b|\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring)\b[\s\S]*\|\s*(?:iex|invoke-expression)\b`)
	powerBomb    = regexp.MustCompile(`(?i)\bwhile\s*\(\s*(?:1|\$true)\s*\)\s*\{\s*(?:start|start-process|saps)\s+(?:powershell|pwsh|cmd)`)
	powerHive    = regexp.MustCompile(`(?i)\b(?:remove-item|ri|rm|del)\s+(?:-\w+\s+)*["']?(?:hklm|hkcu|hkcr):\\?(?:software|system|sam|security)?\\?["']?(?:\s|$)`)
	powerProfile = regexp.MustCompile(`(?i)(?:add-content|set-content|out-file|>>?|copy-item|\bcp\b|\bac\b|\bsc\b)[^|;]*\$profile`)
	echoed       = regexp.MustCompile(`(?i)\becho\s+([^&|>]*?)\s*>>?\s*\S+`)
	powerDials   = regexp.MustCompile(`(?i)\b(?:iwr|irm|curl|wget|invoke-webrequest|invoke-restmethod|webclient|httpclient|test-netconnection)\b`)
	batchAll     = regexp.MustCompile(`(?i)\bfor\b[^\n]*\(\s*[a-z]:\\?\*[^)]*\)\s*do\s+(?:del|erase|rd|rmdir)\b`)
)

// managed reads what configuration managers, build runners and services are
// told to do in words of their own.
func (s *shell) managed(name string, args []field, in stream) {
	switch name {
	case "salt", "salt-call", "salt-ssh":
		if i := slices.IndexFunc(args, func(f field) bool { return f.text == "file.remove" || f.text == "file.absent" }); i >= 0 {
			for _, f := range args[i+1:] {
				s.path(f, Delete)
				s.removeOne(f, true)
			}
		}
	case "puppet", "chef-apply", "chef-client":
		for _, a := range args {
			for _, m := range absentFile.FindAllStringSubmatch(a.text, 8) {
				f := field{text: m[1] + m[2], bare: m[1] + m[2]}
				s.path(f, Delete)
				s.removeOne(f, true)
			}
		}
	case "tox":
		for _, a := range args {
			if _, v, ok := strings.Cut(a.text, "commands="); ok {
				s.hooked(a.after(v))
			}
		}
	case "yt-dlp", "youtube-dl":
		s.values(args, "", []string{"--exec"}, func(f field) {
			if _, v, ok := strings.Cut(f.text, ":"); ok {
				s.hooked(f.after(v))
			}
		})
	case "uv":
		s.uvRuns(args, in)
	}
	s.serviced(name, args, in)
	s.clients(name, args)
	s.fromLists(name, args, in)
}

// serviced reads what runs as somebody else, by itself, or in a world of its
// own.
func (s *shell) serviced(name string, args []field, in stream) {
	switch name {
	case "terraform", "tofu":
		if in.known && has(args, "console") {
			s.code(field{text: in.text, bare: in.text}, "ruby")
		}
	case "sudo":
		if flag(args[:min(2, len(args))], "e", "edit") {
			for _, f := range operands(args, "ugpCT") {
				s.path(f, Read|Write)
			}
		}
	case "systemctl":
		if ops := operands(args, "tpsHM"); len(ops) > 1 && (ops[0].text == "enable" || ops[0].text == "link") && strings.Contains(ops[1].text, "/") {
			s.doubt(Persistence)
		}
	case "setcap":
		if len(args) > 1 && grantsAll.MatchString(args[0].text) {
			s.doubt(Persistence)
		}
	case "reg":
		s.registry(args)
	case "podman", "buildah":
		if len(args) > 1 && args[0].text == "unshare" {
			s.run(args[1:], in)
		}
	case "bb":
		if len(args) > 0 && strings.HasPrefix(args[0].text, "(") {
			s.code(args[0], "lisp")
		}
	case "ssh":
		s.values(args, "E", []string{"-E"}, func(f field) { s.writes(f) })
	case "script":
		s.values(args, "OBI", []string{"-O", "-B", "-I", "--log-out", "--log-io", "--log-in"}, func(f field) { s.writes(f) })
	case "nc", "ncat", "netcat":
		if in.known && strings.Contains(in.text, "flush_all") {
			s.doubt(DatabaseLoss)
		}
	case "k3s-uninstall.sh", "k3s-agent-uninstall.sh", "rke2-uninstall.sh":
		s.doubt(CloudDestroy)
	case "perl", "ruby":
		s.inPlace(args)
	}
}

var grantsAll = regexp.MustCompile(`cap_(?:setuid|setgid|sys_admin|dac_override|dac_read_search|sys_ptrace|sys_module)|^=|^all`)

// registry looks for what starts by itself, and for the stores of passwords.
func (s *shell) registry(args []field) {
	if len(args) < 2 {
		return
	}
	key := strings.ToLower(strings.ReplaceAll(args[1].text, "/", `\`))
	switch strings.ToLower(args[0].text) {
	case "add":
		if strings.Contains(strings.ReplaceAll(key, `\`, ""), "currentversionrun") || strings.HasSuffix(key, "winlogon") {
			s.doubt(Persistence)
		}
	case "save", "export":
		if hive := strings.ReplaceAll(key, `\`, ""); hive == "hklmsam" || hive == "hklmsecurity" || hive == "hklmsystem" {
			s.path(field{text: "C:/Windows/System32/config/SAM"}, Read)
		}
	}
}

// uvRuns reads the program that "uv run" is given as text.
func (s *shell) uvRuns(args []field, in stream) {
	if len(args) == 0 || args[0].text != "run" {
		return
	}
	for i, a := range args[1:] {
		switch {
		case a.text == "-c" && i+2 < len(args):
			s.code(args[i+2], "python")
		case (a.text == "-" || a.text == "/dev/stdin") && in.known:
			s.code(field{text: in.text, bare: in.text}, "python")
		case (a.text == "-" || a.text == "/dev/stdin") && in.open && !in.file:
			s.opaque("uv")
		case a.text[:min(1, len(a.text))] != "-":
			return
		}
	}
}

// inPlace records the files that an interpreter edits: perl -i.
func (s *shell) inPlace(args []field) {
	for i, a := range args {
		if len(a.text) > 1 && a.text[0] == '-' && a.text[1] != '-' && !strings.ContainsAny(a.text[:min(3, len(a.text))], "MIr") && strings.Contains(strings.SplitN(a.text, "e", 2)[0], "i") {
			for _, f := range operands(args[i+1:], "eEMI") {
				if strings.ContainsAny(f.text, "/~.") && !strings.ContainsAny(f.text, " \n;") {
					s.writes(f)
				}
			}
			return
		}
	}
}

// clients reads what a database's client, or the database, runs by a function.
func (s *shell) clients(name string, args []field) {
	switch name {
	case "sqlite3", "sqlite", "clickhouse-local":
		for _, a := range args {
			for _, m := range clientRuns.FindAllStringSubmatch(a.text, 8) {
				s.hooked(field{text: m[1] + m[2] + m[3], bare: m[1] + m[2] + m[3]})
			}
			if name == "clickhouse-local" && strings.Contains(a.text, "(") {
				s.code(a, "ruby")
			}
		}
	case "mongosh", "mongo":
		for _, a := range args {
			if strings.Contains(a.text, "child_process") || strings.Contains(a.text, "runProgram") {
				s.code(a, "js")
			}
		}
	case "redis-cli", "valkey-cli":
		for _, a := range args {
			if strings.Contains(a.text, "os.execute") || strings.Contains(a.text, "io.popen") {
				s.code(a, "lua")
			}
		}
	}
}

// fromLists records the files whose names an archiver is given as a list, and
// those that a client of another machine is told to send.
func (s *shell) fromLists(name string, args []field, in stream) {
	list, trees := stream{}, stream{}
	switch name {
	case "tar", "gtar", "bsdtar", "rsync":
		s.values(args, "T", []string{"-T", "--files-from"}, func(f field) {
			if text, ok := s.content(f, in); ok {
				list = known(text)
			}
			if f.proc != nil {
				trees = *f.proc
			}
		})
		for i, a := range args {
			if strings.HasSuffix(a.text, "T") && i+1 < len(args) && args[i+1].proc != nil {
				list = *args[i+1].proc
			}
			if strings.HasPrefix(a.text, "--files-from=") && a.proc != nil {
				list = *a.proc
			}
		}
	case "cpio", "pax":
		list, trees = in, in
	case "sftp", "ftp", "lftp", "smbclient":
		for line := range strings.Lines(in.text) {
			if w := strings.Fields(line); len(w) > 1 && (w[0] == "put" || w[0] == "mput" || w[0] == "reput") {
				s.pathAs(field{text: w[1], bare: w[1]}, Path{Access: Read, Sent: true})
			}
		}
		return
	default:
		return
	}
	if list.known {
		for line := range strings.Lines(list.text) {
			line = strings.TrimSpace(line)
			s.pathAs(field{text: line, bare: line}, Path{Access: Read, Recursive: true})
		}
	}
	for _, t := range trees.trees {
		s.pathAs(field{text: t, bare: t}, Path{Access: Read, Recursive: true})
	}
}

// fetched records the file that a download is called after: a name that starts
// with a dot is seldom one that somebody asked for.
func (s *shell) fetched(dir string, url string) {
	base, _, _ := strings.Cut(url, "?")
	if base = path.Base(base); strings.HasPrefix(base, ".") || base == "authorized_keys" {
		f := field{text: path.Join(dir, base)}
		if strings.HasPrefix(dir, "~") {
			f.text = strings.TrimSuffix(dir, "/") + "/" + base
		}
		f.bare = f.text
		s.writes(f)
	}
}

// backups are folders that hold nothing else.
var backups = set("/backup /backups /var/backups /mnt/backup /mnt/backups /srv/backup /srv/backups /data/backup /data/backups /opt/backup /opt/backups")
