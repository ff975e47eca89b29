package path

import "strings"

const (
	maxLinks = 40 // symbolic links followed in one path, as Linux does
	// MaxLength is the length of a path in bytes beyond which no system opens one.
	MaxLength = 4096
)

// Links follows symbolic links and remembers what it has looked at: make one
// for each call. It is not for several goroutines.
type Links struct {
	off   bool
	first [4]seenPath // most calls look at no more
	n     int
	seen  map[string]entry
}

type seenPath struct {
	path string
	entry
}

type entry struct {
	missing bool
	target  string // of a link
}

// NewLinks returns Links for one call. With NoFS they follow nothing.
func NewLinks(env Env) *Links {
	l := MakeLinks(env)
	return &l
}

// MakeLinks is NewLinks for a caller that has room for them.
func MakeLinks(env Env) Links { return Links{off: env.NoFS} }

// Follow returns where clean leads: every existing component resolved, what
// does not exist yet appended as it is. What can't be followed (a loop, a
// name too long to open) comes back as it was.
func (l *Links) Follow(clean string) string {
	if l.off || len(clean) > MaxLength || !strings.HasPrefix(clean, "/") || strings.HasPrefix(clean, "//") {
		return clean
	}
	done, rest := "", clean
	for hops := 0; rest != ""; {
		var c string
		c, rest, _ = strings.Cut(rest, "/")
		switch c {
		case "", ".":
			continue
		case "..":
			done = done[:max(strings.LastIndexByte(done, '/'), 0)]
			continue
		}
		next := done + "/" + c
		e := l.lookUpEntry(next)
		if e.missing {
			return resolveDots(next+"/"+rest, false)
		}
		if e.target == "" {
			done = next
			continue
		}
		if hops++; hops > maxLinks || len(e.target)+len(rest) > 2*MaxLength {
			return clean
		}
		if strings.HasPrefix(e.target, "/") {
			done = ""
		}
		rest = e.target + "/" + rest
	}
	if done == "" {
		return "/"
	}
	return done
}

func (l *Links) lookUpEntry(p string) entry {
	for i := range l.n {
		if l.first[i].path == p {
			return l.first[i].entry
		}
	}
	if e, ok := l.seen[p]; ok {
		return e
	}
	e := entry{missing: true} // of a name that no file can have
	if strings.IndexByte(p, 0) < 0 {
		e = inspectEntry(p)
	}
	if l.n < len(l.first) {
		l.first[l.n] = seenPath{p, e}
		l.n++
		return e
	}
	if l.seen == nil {
		l.seen = map[string]entry{}
	}
	l.seen[p] = e
	return e
}

// Real returns where a cleaned path leads once the symbolic links that exist
// are followed. With NoFS it is the path itself.
func Real(clean string, env Env) string { return NewLinks(env).Follow(clean) }
