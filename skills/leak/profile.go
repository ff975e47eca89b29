package leak

import (
	"bytes"
	"io"
	"strconv"
	"strings"
)

// findLeaks reads the profile line by line; a profile of many goroutines is never
// held whole. What can't be read counts as no leak.
func findLeaks(profile func(io.Writer) error, due map[string]bool) []Leak {
	if len(due) == 0 {
		return nil
	}
	r := &profileReader{due: due, byCall: map[string]*Leak{}, most: map[string]int{}}
	if err := profile(r); err != nil {
		return nil
	}
	r.endStack() // of the last record
	found := make([]Leak, len(r.order))
	for i, call := range r.order {
		found[i] = *r.byCall[call]
	}
	return found
}

// profileReader takes the text of a goroutine profile apart. A record is
//
//	COUNT @ ADDRESSES
//	# labels: {"KEY":"VALUE", …}
//	#	ADDRESS	FUNCTION+OFFSET	FILE:LINE
//
// with an empty line after it.
type profileReader struct {
	due    map[string]bool
	byCall map[string]*Leak
	most   map[string]int // goroutines at Leak.Where
	order  []string
	part   []byte // of a line that has not ended

	count       int
	call, skill string
	where       string
	pooled      bool
}

// Write takes a piece of the profile.
func (r *profileReader) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			r.part = append(r.part, p...)
			return n, nil
		}
		r.part = append(r.part, p[:i]...)
		r.readProfileLine(string(r.part))
		r.part, p = r.part[:0], p[i+1:]
	}
}

func (r *profileReader) readProfileLine(s string) {
	switch {
	case s == "":
		r.endStack()
	case strings.HasPrefix(s, "# labels: "):
		r.call, r.skill = labelValue(s, LabelCall), labelValue(s, LabelSkill)
	case strings.HasPrefix(s, "#\t"):
		r.readStackFrame(s)
	default:
		r.endStack()
		head, _, ok := strings.Cut(s, " @ ")
		if n, err := strconv.Atoi(head); ok && err == nil {
			r.count = n
		}
	}
}

// readStackFrame takes one function of a stack, innermost first.
func (r *profileReader) readStackFrame(s string) {
	if r.call == "" {
		return
	}
	fields := strings.Split(s, "\t")
	if len(fields) < 3 {
		return
	}
	fn := fields[2]
	if i := strings.LastIndexByte(fn, '+'); i > 0 {
		fn = fn[:i]
	}
	for _, own := range pools {
		r.pooled = r.pooled || strings.HasPrefix(fn, own)
	}
	if first, _, _ := strings.Cut(fn, "/"); r.where == "" && strings.Contains(first, ".") && strings.Contains(fn, "/") {
		r.where = fn // the first path element of a module has a dot
	}
}

// pools are goroutines that the standard library keeps for connections that the
// next call will use again.
var pools = []string{
	"net/http.(*persistConn).", "net/http.(*http2", "net/http/internal/http2.", "golang.org/x/net/http2.", "database/sql.(*DB).",
}

func (r *profileReader) endStack() {
	if r.due[r.call] && !r.pooled && r.count > 0 {
		l := r.byCall[r.call]
		if l == nil {
			l = &Leak{Call: r.call, Skill: r.skill}
			r.byCall[r.call] = l
			r.order = append(r.order, r.call)
		}
		l.Goroutines += r.count
		if r.count > r.most[r.call] {
			l.Where, r.most[r.call] = r.where, r.count
		}
	}
	r.count, r.call, r.skill, r.where, r.pooled = 0, "", "", "", false
}

// labelValue returns the value of a key in a line of labels, "" where it has none.
func labelValue(s, key string) string {
	_, rest, ok := strings.Cut(s, strconv.Quote(key)+":")
	if !ok {
		return ""
	}
	q, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return ""
	}
	v, err := strconv.Unquote(q)
	if err != nil {
		return ""
	}
	return v
}
