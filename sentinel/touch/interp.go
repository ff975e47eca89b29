package touch

import (
	"regexp"
	"strings"
)

var (
	// runsText are the ways in which programs run command lines.
	runsText = regexp.MustCompile("(?i)\\b(system|exec\\w*|popen\\w*|spawn\\w*|subprocess|shell_exec|passthru|proc_open|check_call|check_output|do shell script|fork)\\b|%x|`|\\bqx\\b|\\|\\s*getline|print\\s*\\|")
	// removesTrees are the functions that remove a folder with all in it.
	removesTrees = regexp.MustCompile(`(?i)\b(rmtree|rm_rf|rm_r|rmsync|rm|rimraf|remove_tree|removesync|rmdirsync|remove_entry\w*|deltree|remove-item|rmdir|removeall|unlink\w*)\b`)
	breedsText   = regexp.MustCompile(`(?i)\bfork\s*(\(\s*\))?\s*while\s+(fork|1|true)|while\s*\(?\s*(1|true)\s*\)?\s*[:{]?\s*(os\.)?fork\b|loop\s*\{\s*fork`)
)

const maxCode = 64 << 10

// code reads a program in another language: not for what it does, but for the
// command lines and paths in its strings, and for what it calls with them.
func (s *shell) code(f field, lang string) {
	if f.unknown {
		s.opaque("")
	}
	if len(f.text) > maxCode {
		s.spent.over = true
		return
	}
	s.guesswork(f.text)
	s.c.urls(f.text, Host{Arg: s.arg, Shell: true})
	s.reads(f.text, dialects[lang], lang)
}

// reads reads the strings and calls of a program.
func (s *shell) reads(text string, d dialect, name string) {
	if breedsText.MatchString(text) || breedsIn(text) {
		s.danger(ForkBomb)
	}
	if name == "tcl" {
		s.tcl(text)
	}
	g := readProgram(text, d)
	if name == "awk" {
		s.awk(text, g)
	}
	runs, removes := runsText.MatchString(text), removesTrees.MatchString(text)
	for _, c := range g.calls {
		runs, removes = runs || c.runs() || c.evals(d), removes || c.removesTree() || oneGone[c.name]
	}
	var all []string
	loose := looseAccess(text)
	for _, p := range g.spans {
		if !p.part {
			all = append(all, p.text)
		}
		s.codePath(text, p.text, []int{p.at, p.end}, loose)
		if (runs || p.runs) && strings.ContainsAny(p.text, " \t\n;|&$`<>(){}") {
			s.guesswork(p.text)
		}
		if removes && !p.part && rooted(p.text) && (!p.folded || len(p.text) > 1 && p.text != "~") {
			s.removeOne(field{text: p.text, bare: p.text}, true)
		}
	}
	if runs && len(all) > 1 {
		s.guesswork(strings.Join(all, " "))
	}
	s.report(g, name)
}

// codePath records the file that a string of a program names.
func (s *shell) codePath(text, q string, at []int, loose Access) {
	file, a := fileOf(text, q, at[0])
	if a == 0 {
		a = codeAccess(text, at[0], at[1], loose)
	}
	absolute := strings.HasPrefix(file, "/") || strings.HasPrefix(file, "~")
	switch {
	case strings.ContainsAny(file, "\n\x00") || file == "" || len(file) > maxPath:
		return
	case a == 0 && absolute:
		a = Read
	case a == 0 || !absolute && strings.ContainsAny(file, "*(){};$<>|"):
		return
	}
	f := field{text: file, bare: file}
	if a.Has(Write) {
		s.writes(f)
		a &^= Write
	}
	if a != 0 {
		s.path(f, a)
	}
}
