package policy

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// TouchView is what the call would touch.
type TouchView struct {
	Paths      []PathView    `json:"paths"`
	Commands   []CommandView `json:"commands"`
	Hosts      []ValueView   `json:"hosts"`
	Recipients []ValueView   `json:"recipients"`
	Amounts    []ValueView   `json:"amounts"`
	Dangers    []ValueView   `json:"dangers"`
	Doubts     []ValueView   `json:"doubts"`
	Unparsed   []string      `json:"unparsed"`
	Incomplete []string      `json:"incomplete"`
}

// PathView is one path. Real is empty where no link leads elsewhere.
type PathView struct {
	Path      string   `json:"path"`
	Real      string   `json:"real"`
	Access    []string `json:"access"`
	Recursive bool     `json:"recursive"`
	Shell     bool     `json:"shell"`
	Arg       string   `json:"arg"`
}

// CommandView is one command of a command line.
type CommandView struct {
	Name    string   `json:"name"`
	Args    []string `json:"args"`
	Dynamic bool     `json:"dynamic"`
	Opaque  bool     `json:"opaque"`
	Arg     string   `json:"arg"`
}

// ValueView is a value and the argument it came from.
type ValueView struct {
	Value string `json:"value"`
	Arg   string `json:"arg"`
}

// viewTouch shows what the call would touch.
func viewTouch(t touch.Touch) *TouchView {
	v := &TouchView{
		Paths: []PathView{}, Commands: []CommandView{}, Hosts: []ValueView{}, Recipients: []ValueView{}, Amounts: []ValueView{},
		Dangers: []ValueView{}, Doubts: []ValueView{}, Unparsed: emptyIfNil(t.Unparsed), Incomplete: emptyIfNil(t.Incomplete),
	}
	for _, p := range t.Paths {
		w := PathView{Path: p.Clean, Access: listAccess(p.Access), Recursive: p.Recursive, Shell: p.Shell, Arg: p.Arg}
		if p.Real != p.Clean {
			w.Real = p.Real
		}
		v.Paths = append(v.Paths, w)
	}
	for _, c := range t.Commands {
		v.Commands = append(v.Commands, CommandView{c.Name, emptyIfNil(c.Args), c.Dynamic, c.Opaque, c.Arg})
	}
	for _, h := range t.Hosts {
		v.Hosts = append(v.Hosts, ValueView{h.Name, h.Arg})
	}
	for _, r := range t.Recipients {
		v.Recipients = append(v.Recipients, ValueView{r.Value, r.Arg})
	}
	for _, a := range t.Amounts {
		v.Amounts = append(v.Amounts, ValueView{a.Value, a.Arg})
	}
	for _, d := range t.Dangers {
		v.Dangers = append(v.Dangers, ValueView{d.Code, d.Arg})
	}
	for _, d := range t.Doubts {
		v.Doubts = append(v.Doubts, ValueView{d.Code, d.Arg})
	}
	return v
}

// listAccess returns the kinds of access in words.
func listAccess(a touch.Access) []string {
	out := []string{}
	for _, w := range []struct {
		bit  touch.Access
		word string
	}{{touch.Read, "read"}, {touch.Write, "write"}, {touch.Delete, "delete"}, {touch.Execute, "execute"}, {touch.Mention, "mention"}} {
		if a.Has(w.bit) {
			out = append(out, w.word)
		}
	}
	return out
}

// readsSecret reports whether a rule's working could show a secret argument. Its condition
// names one, or looks at args other than by plain names.
func readsSecret(r permission.Explained, c sentinel.Call) bool {
	if c.Skill() == nil {
		return false
	}
	secret := slices.DeleteFunc(c.Skill().DeclaredArgs(), func(name string) bool {
		marks, _ := c.Skill().ArgMarks(name)
		return !marks.Has(skills.Secret)
	})
	return len(secret) > 0 && (!plainArgs(r.When) ||
		slices.ContainsFunc(secret, func(name string) bool { return strings.Contains(r.When, name) }))
}

// plainArgs reports whether args stands only as args.name in the condition.
func plainArgs(when string) bool {
	for rest := when; ; {
		i := strings.Index(rest, "args")
		if i < 0 {
			return true
		}
		if rest = rest[i+len("args"):]; !strings.HasPrefix(rest, ".") {
			return false
		}
	}
}
