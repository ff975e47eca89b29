package touch

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-dev/vedette/sentinel/touch/bash"
	"github.com/vedette-dev/vedette/sentinel/touch/host"
	"github.com/vedette-dev/vedette/sentinel/touch/path"
	"github.com/vedette-dev/vedette/skills"
)

// Of works out what a call of s with args would touch. args is what a JSON
// decoder with UseNumber makes of the arguments. It never panics, needs time
// and memory in proportion to the arguments, and reads the file system only to
// follow symbolic links (not at all with NoFS). What it can't read in full (a
// command line beyond MaxShell, nested too deeply, or no shell) it names in
// Unparsed, so that a reader can refuse it.
func Of(s *skills.Skill, args map[string]any, env Env) Touch {
	return OfWalk(s, func(fn func(skills.Arg)) { s.Walk(args, fn) }, env)
}

// OfWalk is Of for a caller that walks the arguments for more than this. walk must call
// what it is handed for each of them, as s.Walk does.
func OfWalk(s *skills.Skill, walk func(fn func(skills.Arg)), env Env) (t Touch) {
	room := &struct { // in one piece: most calls are small
		collector
		links  path.Links
		budget bash.Budget
	}{collector: collector{env: env, effect: accessOf(s.Effect())}, links: path.MakeLinks(env)}
	c := &room.collector
	c.links, c.budget = &room.links, &room.budget
	defer func() {
		// A parser that breaks on hostile text must not break its caller,
		// and what it did not read counts as unreadable.
		if r := recover(); r != nil {
			t = c.touch
			t.Unparsed = appendNew(t.Unparsed, c.arg)
		}
	}()
	walk(c.takeArgument)
	c.flushList()
	return c.touch
}

// accessOf is what the effect of a skill does to the files in its x-path
// arguments.
func accessOf(e skills.Effect) Access {
	switch e {
	case skills.Read:
		return Read
	case skills.Irreversible:
		return Write | Delete
	}
	return Write
}

// collector gathers a Touch from one call's arguments.
type collector struct {
	env    Env
	links  *path.Links
	effect Access
	touch  Touch
	hosts  map[Host]bool
	arg    string // being read, for a panic's sake

	budget *bash.Budget // for all command lines of the call

	// A list marked x-shell arrives item by item.
	list     []string
	listName string
	listAt   string
}

func (c *collector) takeArgument(a skills.Arg) {
	if !a.Declared {
		a.Name = "" // a key that the model made up belongs in no record
	}
	c.arg = a.Name
	text, isText := a.Text()
	if isText && a.Marks.Has(skills.Shell) {
		if parent, item := findListOf(a); item {
			if parent != c.listAt {
				c.flushList()
			}
			c.listAt, c.listName = parent, a.Name
			c.list = append(c.list, text)
			return
		}
	}
	c.flushList()
	c.arg = a.Name
	if n, ok := a.Value.(json.Number); ok {
		c.touch.Amounts = append(c.touch.Amounts, Amount{Value: n.String(), Arg: a.Name})
		return
	}
	if isText && text != "" {
		c.takeText(a, text)
	}
}

// findListOf returns the pointer of the list that a belongs to.
func findListOf(a skills.Arg) (parent string, ok bool) {
	i := strings.LastIndexByte(a.Pointer, '/')
	if i < 0 || !hasDigitsAlone(a.Pointer[i+1:]) || a.Pointer[i+1:] == a.Name {
		return "", false
	}
	return a.Pointer[:i], true
}

func (c *collector) flushList() {
	if len(c.list) == 0 {
		return
	}
	list, name := c.list, c.listName
	c.list, c.listAt, c.arg = nil, "", name
	c.takeFindings(bash.EvaluateWords(list, c.env, c.budget), name)
}

func (c *collector) takeText(a skills.Arg, text string) {
	switch {
	case a.Marks.Has(skills.Shell):
		c.takeFindings(bash.Evaluate(text, c.env, c.budget), a.Name)
		return
	case a.Marks.Has(skills.Path):
		c.addInjected(text, a)
		c.addReadings(text, Path{Access: c.effect, Arg: a.Name, Declared: true})
		c.addGluedPaths(text, a.Name)
		return
	case a.Marks&(skills.Content|skills.Secret) != 0:
		return
	}
	c.addReachedHosts(text, a)
	c.addInjected(text, a)
	if a.Marks.Has(skills.Target) {
		c.touch.Recipients = append(c.touch.Recipients, Recipient{Value: text, Arg: a.Name})
	}
	found := host.ListMailboxes(text)
	for _, m := range host.ListRoutes(text) {
		found = appendNew(found, m)
	}
	for _, m := range found {
		if m != text || !a.Marks.Has(skills.Target) {
			c.touch.Recipients = append(c.touch.Recipients, Recipient{Value: m, Arg: a.Name})
		}
	}
	c.addMentioned(text, a.Name)
}

func (c *collector) addHost(h Host) {
	whole := h
	whole.Inside = false
	if !c.hosts[h] && !c.hosts[whole] {
		if c.hosts == nil {
			c.hosts = map[Host]bool{}
		}
		c.hosts[h] = true
		c.touch.Hosts = append(c.touch.Hosts, h)
	}
}

// addReachedHosts records the hosts in an argument: of a URL, of what an x-url argument
// holds, and of a value that is nothing but a metadata service's address.
func (c *collector) addReachedHosts(text string, a skills.Arg) {
	whole, inner := host.ListNamed(text, a.Marks.Has(skills.URL))
	for _, h := range whole {
		c.addHost(Host{Name: h.Name, Zone: h.Zone, Arg: a.Name})
	}
	for _, h := range inner {
		c.addHost(Host{Name: h.Name, Zone: h.Zone, Arg: a.Name, Inside: true})
	}
}

// addMentioned reads a whole value as a path, unless it is prose.
func (c *collector) addMentioned(text, arg string) {
	if strings.Contains(text, "://") && !hasPrefixFold(strings.TrimSpace(text), "file:") {
		if s, ok := path.Unwrap(text); ok {
			c.addReadings(s, Path{Access: Mention, Arg: arg})
		}
		return
	}
	c.addGluedPaths(text, arg)
	if path.IsProse(text) {
		return
	}
	p := Path{Access: Mention, Arg: arg}
	c.addReadings(text, p)
	// "/etc/shadow and more": a receiver that cuts at the blank opens it.
	if strings.ContainsFunc(strings.TrimSpace(text), unicode.IsSpace) {
		c.addReadings(strings.Fields(text)[0], p)
	}
}

// addReadings adds one Path for every way in which raw may be read.
func (c *collector) addReadings(raw string, p Path) {
	p.Unplaced, p.Home = path.IsUnplaced(raw), path.NamesHome(raw)
	for _, clean := range path.ListReadings(raw, c.env) {
		p.Raw, p.Clean, p.Real = raw, clean, c.links.Follow(clean)
		c.touch.Paths = append(c.touch.Paths, p)
	}
}

// addGluedPaths adds the paths that stand inside a word as mentioned.
func (c *collector) addGluedPaths(text, arg string) {
	if strings.IndexByte(text, '/') < 0 {
		return
	}
	for _, p := range path.FindGlued(text) {
		c.addReadings(p, Path{Access: Mention, Arg: arg})
	}
}

// takeFindings adds what a command line would do to the call's Touch.
func (c *collector) takeFindings(f bash.Findings, arg string) {
	t := &c.touch
	t.Paths = slices.Grow(t.Paths, len(f.Paths))
	for _, p := range f.Paths {
		t.Paths = append(t.Paths, Path{
			Raw: p.Raw, Clean: p.Clean, Real: p.Real, Access: Access(p.Access), Arg: arg, Shell: true,
			Extent: p.Extent, Exposure: p.Exposure, Spelling: p.Spelling,
		})
	}
	t.Commands = slices.Grow(t.Commands, len(f.Commands))
	for _, k := range f.Commands {
		t.Commands = append(t.Commands, Command{Name: k.Name, Args: k.Args, Dynamic: k.Dynamic, Opaque: k.Opaque, Arg: arg})
	}
	for _, h := range f.Hosts {
		c.addHost(Host{Name: h.Name, Zone: h.Zone, Arg: arg, Shell: true, Inside: h.Inside})
	}
	t.Dangers = addCodes(t.Dangers, f.Dangers, arg)
	t.Doubts = addCodes(t.Doubts, f.Doubts, arg)
	t.Changes = addCodes(t.Changes, f.Changes, arg)
	t.Unread = addCodes(t.Unread, f.Unread, arg)
	if f.Unparsed {
		t.Unparsed = appendNew(t.Unparsed, arg)
	}
	if f.Incomplete {
		t.Incomplete = appendNew(t.Incomplete, arg)
	}
	if f.Plain {
		t.Plain = appendNew(t.Plain, arg)
	}
}

// addCodes adds the codes that are not there yet.
func addCodes(list []Danger, codes []string, arg string) []Danger {
	for _, code := range codes {
		if d := (Danger{Code: code, Arg: arg}); !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	return list
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
