package touch

import (
	"slices"
	"strings"
)

// listers show the folder that they run in.
var listers = set("ls dir tree du exa eza")

// printers have files of secrets of their own.
var printers = set("getent gpg gpg2 git kubectl oc aws")

// unnamed records the files that a program hands out without being told their
// names: a person who may not read the file may not have it printed.
func (s *shell) unnamed(name string, args []field) {
	if !printers[name] {
		return
	}
	ops := operands(args, "")
	at := func(i int, w string) bool { return i < len(ops) && ops[i].text == w }
	file := ""
	switch name {
	case "getent":
		if at(0, "shadow") || at(0, "gshadow") {
			file = "/etc/" + ops[0].text
		}
	case "gpg", "gpg2":
		if slices.ContainsFunc(args, func(f field) bool { return strings.HasPrefix(f.text, "--export-secret") }) {
			file = "~/.gnupg/private-keys-v1.d"
		}
	case "git":
		if at(0, "credential") && at(1, "fill") {
			file = "~/.git-credentials"
		}
	case "kubectl", "oc":
		if at(0, "config") && at(1, "view") && given(args, "--raw") {
			file = "~/.kube/config"
		}
	case "aws":
		if at(0, "configure") && at(1, "export-credentials") {
			file = "~/.aws/credentials"
		}
	}
	if file != "" && !helps(args) {
		s.path(field{text: file, bare: file}, Read)
	}
}
