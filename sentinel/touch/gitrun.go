package touch

import (
	"slices"
	"strings"
)

// git reads what git was told to run: by its configuration, and by the
// subcommands that run something for each commit or module.
func (s *shell) git(args []field, in stream) {
	i := 0
	for ; i < len(args) && strings.HasPrefix(args[i].text, "-"); i++ {
		switch t := args[i].text; {
		case t == "-c" && i+1 < len(args):
			i++
			key, val, _ := strings.Cut(args[i].text, "=")
			s.gitConfig(key, args[i].after(val))
		case strings.HasPrefix(t, "-c") && strings.Contains(t, "="):
			key, val, _ := strings.Cut(t[2:], "=")
			s.gitConfig(key, args[i].after(val))
		case t == "-C" || t == "--git-dir" || t == "--work-tree" || t == "--namespace" || t == "--exec-path" || t == "--config-env":
			i++
		}
	}
	if i >= len(args) {
		return
	}
	sub, args := args[i].text, args[i+1:]
	switch sub {
	case "bisect":
		if len(args) > 1 && args[0].text == "run" {
			s.starts(launcher{}, args[1:], in)
		}
	case "submodule":
		if j := slices.IndexFunc(args, func(f field) bool { return f.text == "foreach" }); j >= 0 {
			s.starts(launcher{joined: true}, skipOptions(args[j+1:], "", nil), in)
		}
	case "config":
		if ops := operands(args, ""); len(ops) > 1 {
			ops = ops[max(0, slices.IndexFunc(ops, func(f field) bool { return strings.Contains(f.text, ".") })):]
			if len(ops) > 1 {
				s.gitConfig(ops[0].text, ops[1])
			}
		}
	default:
		s.gitOptions(sub, args)
	}
}

// gitLines are the options of git's subcommands whose value runs.
var gitLines = merged(map[string]launcher{
	"rebase":        of("", "", lines("-x --exec")),
	"filter-branch": of("", "", lines("--tree-filter --index-filter --msg-filter --commit-filter --parent-filter --env-filter --tag-name-filter --setup")),
	"difftool":      of("", "", lines("-x --extcmd")),
	"grep":          of("", "", lines("-O --open-files-in-pager")),
	"clone":         of("", "", lines("-u --upload-pack -c --config")),
	"fetch pull ls-remote fetch-pack archive push send-pack remote": of("", "", lines("--upload-pack --receive-pack --exec")),
	"send-email": of("", "", lines("--to-cmd --cc-cmd --sendmail-cmd --smtp-server --header-cmd")),
})

func (s *shell) gitOptions(sub string, args []field) {
	l, ok := gitLines[sub]
	if !ok {
		return
	}
	for i, a := range args {
		opt, val, joined := l.option(a)
		switch {
		case opt == "" && strings.HasPrefix(a.text, "ext::"):
			words := strings.Fields(strings.ReplaceAll(a.text[len("ext::"):], "% ", "\x00"))
			for i, w := range words {
				words[i] = strings.ReplaceAll(w, "\x00", " ")
			}
			s.fork().run(literals(words), stream{})
		case opt == "" || !slices.Contains(l.lines, opt) || !joined && i+1 == len(args):
		case opt == "-c" || opt == "--config":
			if !joined {
				val = args[i+1]
			}
			key, v, _ := strings.Cut(val.text, "=")
			s.gitConfig(key, val.after(v))
		case joined:
			s.hooked(val)
		case sub != "grep": // its option takes no word of its own
			s.hooked(args[i+1])
		}
	}
}

// gitConfig reads the value of a key of git's configuration that it runs.
func (s *shell) gitConfig(key string, val field) {
	key = strings.ToLower(key)
	first, _, _ := strings.Cut(key, ".")
	last := key[strings.LastIndexByte(key, '.')+1:]
	switch {
	case first == "alias":
		if cmd, ok := strings.CutPrefix(val.text, "!"); ok {
			s.hooked(val.after(cmd))
		} else {
			s.hooked(val.after("git " + val.text))
		}
	case first == "credential" && last == "helper":
		if strings.HasPrefix(val.text, "!") || strings.HasPrefix(val.text, "/") {
			s.hooked(val)
		}
	case first == "pager", strings.HasSuffix(last, "command"), strings.HasSuffix(last, "cmd"),
		slices.Contains([]string{"pager", "editor", "fsmonitor", "askpass", "external", "textconv", "driver", "clean", "smudge", "process", "program", "difffilter", "uploadpack", "receivepack", "gitproxy", "packobjectshook"}, last):
		if val.text != "true" && val.text != "false" {
			s.hooked(val)
		}
	}
}
