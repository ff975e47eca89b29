package touch

import (
	"regexp"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// report records what a program's calls do whose arguments are no plain
// literals: those the strings alone don't tell.
func (s *shell) report(g *program, name string, said map[string]bool) {
	for i := range g.calls {
		c := &g.calls[i]
		switch {
		case c.evals(g.d):
			s.evaluates(g, c, name)
		case c.runs():
			s.started(c, name, said)
		case c.removesTree() || oneGone[c.name]:
			s.goes(c, name)
		case strings.HasPrefix(c.name, "chmod") || strings.HasPrefix(c.name, "chown") || c.name == "lchown":
			s.regrants(c)
		case byName(c.name).Has(Write):
			for _, a := range c.args {
				if a.text() && strings.HasPrefix(a.s, "/") && path.IsDevice(a.s) {
					s.danger(DeviceWrite)
				}
			}
		case c.name == "rename" || c.name == "move" || c.name == "renamesync" || c.name == "mv" || c.name == "rename!":
			if len(c.args) > 0 && c.args[0].text() {
				if k, entries := s.tree(c.args[0].s); k != path.NoTree && (k != path.HomeTree || !entries) {
					s.danger(MoveTree)
				}
			}
		}
	}
}

// evaluates reads the program that another one makes.
func (s *shell) evaluates(g *program, c *call, name string) {
	if len(c.args) == 0 {
		return
	}
	a := c.args[len(c.args)-1]
	if c.name != "function" {
		a = c.args[0]
	}
	switch {
	case a.text():
		s.nested(g, a.s)
	case a.num || a.file || a.param != "" || a.many:
	default:
		if a.blank() {
			s.opaque(name)
		}
	}
}

// nested reads a program inside a program, a few levels deep.
func (s *shell) nested(g *program, text string) {
	if s.level > maxReparse || !s.charge(len(text)+parseCost) {
		s.spent.over = true
		return
	}
	s.level += 8
	defer func() { s.level -= 8 }()
	s.readsCode(text, g.d, "")
}

// started reads the command that a program starts.
func (s *shell) started(c *call, name string, said map[string]bool) {
	var words []val
	for _, a := range c.args {
		switch {
		case a.many:
			words = append(words, a.list...)
		default:
			words = append(words, a)
		}
	}
	if len(words) == 0 || words[0].num {
		return
	}
	if w := words[0]; w.blank() {
		if w.param == "" && !w.file && !strings.HasPrefix(c.name, "exec") && len(words) == 1 {
			s.opaque(name)
		}
		return
	}
	texts, sure := make([]string, 0, len(words)), true
	for _, w := range words {
		t := w.s
		if !w.known {
			t = strings.ReplaceAll(w.shown, "$", "${_unknown_}")
			sure = false
		}
		texts = append(texts, t)
	}
	joined := strings.Join(texts, " ")
	if !said[texts[0]] && strings.ContainsAny(texts[0], " \t\n;|&$`<>(){}") {
		said[texts[0]] = true
		s.guesswork(texts[0])
	}
	switch {
	case len(texts) == 1 || said[joined]:
	case sure:
		said[joined] = true
		f := s.fork()
		f.quiet = true
		f.run(literals(texts), stream{})
	default:
		said[joined] = true
		s.guesswork(joined)
	}
}

// goes looks at what a program removes.
func (s *shell) goes(c *call, name string) {
	list := c.args
	if len(list) == 0 || c.self.known && !c.self.many && len(list) > 0 && !list[0].text() {
		list = []val{c.self}
	}
	if len(list) > 0 && list[0].many {
		list = list[0].list
	}
	whole := c.removesTree()
	for i, a := range list {
		switch {
		case a.many || a.num || i > 0 && !a.each && !strings.HasPrefix(a.s, "/"):
		case a.known || a.s != "":
			s.goesOne(a, whole, name)
		case whole && i == 0 && a.param == "" && !a.each && c.self.blank():
			s.opaque(name)
		}
	}
}

func (s *shell) goesOne(a val, whole bool, name string) {
	f := a.field()
	if rooted(a.s) || a.each {
		s.removeOne(f, whole)
	}
	if whole && a.known && (rooted(a.s) || strings.HasPrefix(a.s, ".")) && s.wipes(f) {
		s.doubt(ProjectWipe)
	}
	if whole && !a.known && rooted(a.s) {
		if k, _ := s.tree(a.s); k != path.NoTree {
			s.opaque(name)
		}
	}
}

func rooted(s string) bool {
	return strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~") || len(s) > 1 && s[1] == ':' && letter(s[0])
}

// regrants looks at modes and owners that a program changes for a whole tree.
func (s *shell) regrants(c *call) {
	deep := strings.Contains(c.name, "_r") || strings.HasSuffix(c.name, "r")
	for _, a := range append(c.args, c.self) {
		if !a.text() || !rooted(a.s) {
			continue
		}
		k, _ := s.tree(a.s)
		if k == path.NoTree || k == path.HomeTree && !a.each && !deep {
			continue
		}
		if strings.HasPrefix(c.name, "chmod") {
			s.danger(ChmodTree)
		} else if a.each || deep {
			s.danger(ChownTree)
		}
	}
}

var (
	endless  = regexp.MustCompile(`(?i)\bwhile\s*\(?\s*(?:1|true|not\s+false|fork|!0|f\(\))|\bfor\s*\(\s*;\s*;|\bloop\s*(?:\{|do\b)|\bforever\b|iter\s*\(\s*int\s*,|\bredo\b|\bgoto\b|\bsetInterval\s*\(|itertools\.(?:count|repeat)|\bwhile\s+\w+\(\)|\bfor\s*/l\b.*\(0,0,|\buntil\s+false`)
	forking  = regexp.MustCompile(`(?i)\bfork\b|pcntl_fork`)
	ownNames = regexp.MustCompile(`process\.execPath|__filename|__FILE__|sys\.executable|sys\.argv\[0\]|\$0\b|process\.argv|\$PROGRAM_NAME|PHP_BINARY|\^X\b`)
	starting = set("fork pcntl_fork forkpty vfork spawn spawnsync popen execute exec execsync execfile execfilesync system start-process start redo goto")
	patient  = regexp.MustCompile(`(?i)\b(?:accept|wait\w*|break|exit|input|readline|join|recv\w*|last|select|poll|communicate|time\.sleep|communicate)\b`)
)

// breedsIn reports whether a program starts itself without end.
func breedsIn(text string) bool {
	if !endless.MatchString(text) || patient.MatchString(text) {
		return false
	}
	return forking.MatchString(text) || ownNames.MatchString(text) || backgrounds.MatchString(text)
}

// backgrounds is a command in a string that goes on by itself.
var backgrounds = regexp.MustCompile(`[^&]&\s*["'` + "`" + `]|\bpopen\s*\(\s*\[`)
