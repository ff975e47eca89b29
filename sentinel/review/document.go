package review

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// Limits of a question in bytes. A document beyond maxDocument, or a key beyond
// maxKey, is not asked about: a key that was cut could collide with another.
// Nor is a call with a longer string, unless it may be cut: see mayCut.
const (
	maxText        = 8 << 10 // of the request and of the mission
	maxString      = 8 << 10 // of one string in the arguments
	maxKey         = 200
	maxDescription = 300
	maxTouch       = 160
	maxDocument    = 32 << 10
)

// Limits of lists in entries.
const (
	maxScope   = 64
	maxTouches = 12
)

// document is the user message. Its fields are all that a model is told.
type document struct {
	Request        *string        `json:"original_request"`
	Mission        string         `json:"mission"`
	MissionBy      string         `json:"mission_written_by"`
	MissionTainted bool           `json:"mission_after_untrusted"`
	Agent          string         `json:"agent_id"`
	Scope          []string       `json:"scope"`
	Skill          skillPart      `json:"skill"`
	Arguments      map[string]any `json:"arguments"`
	Touches        []string       `json:"touches"`
	Outward        bool           `json:"outward"`
	Tainted        bool           `json:"tainted"`
	CutBytes       int            `json:"cut_bytes"`
}

type skillPart struct {
	Name        string `json:"name"`
	Effect      string `json:"effect"`
	Reaches     string `json:"reaches"`
	Description string `json:"description"`
}

// describe writes the document of a call whose skill is known. False means that
// it does not fit.
func describe(c sentinel.Call) (string, bool) {
	g, s := c.Grant(), c.Skill()
	request, known := g.Request()
	if !mayCut(c, request) {
		return "", false
	}
	k := &knife{}
	d := document{
		Mission: k.cut(g.Mission(), maxText), MissionBy: author(g.MissionBy()), MissionTainted: g.MissionTainted(),
		Agent: g.Agent(), Scope: scopeOf(g.Scope()),
		Skill: skillPart{s.Name(), string(s.Effect()), string(s.Reaches()), k.cut(s.Spec().Description, maxDescription)},
		// The copy's secrets are replaced; only the copy is cut.
		Arguments: k.object(s.WithoutSecrets(c.Parsed())),
		Touches:   touches(c), Outward: c.Outward(), Tainted: c.Tainted(),
	}
	if known && strings.TrimSpace(request) != "" {
		request = k.cut(request, maxText)
		d.Request = &request
	}
	d.CutBytes = k.bytes
	b, err := json.Marshal(d)
	if err != nil || k.stuck || len(b) > maxDocument {
		return "", false
	}
	return string(b), true
}

// mayCut reports whether everything that is too long may be cut. A model that
// sees a part would judge other bytes than those that run, and what an attacker
// wants hidden would be put where the cut is. So of a call that does more than
// read nothing is cut, neither arguments nor the request and the mission that
// they are held against. Of a read, x-content may be, if it is nothing else
// besides: not what says where the read goes, and nothing at all where the
// schema doesn't say which is which. A skill's description is the operator's and
// runs nowhere, so its length counts for nobody.
func mayCut(c sentinel.Call, request string) bool {
	reads := c.Effect() == skills.Read
	if !reads && (len(c.Grant().Mission()) > maxText || len(request) > maxText) {
		return false
	}
	fits := true
	c.Skill().Walk(c.Parsed(), func(a skills.Arg) {
		text, ok := a.Text()
		if !ok || len(text) <= maxString || a.Marks.Has(skills.Secret) {
			return // a secret is replaced, whatever its length
		}
		content := a.Marks.Has(skills.Content) && a.Marks&(skills.Target|skills.Shell|skills.Path|skills.URL) == 0
		fits = fits && reads && content
	})
	return fits
}

// author keeps the closed list closed, whatever a grant was made with.
func author(a sentinel.Author) string {
	switch a {
	case sentinel.ByUser, sentinel.ByOperator, sentinel.ByOrchestrator:
		return string(a)
	}
	return "unknown"
}

func scopeOf(s skills.Scope) []string {
	list := s.List()
	if len(list) > maxScope {
		list = append(list[:maxScope], fmt.Sprintf("and %d more", len(list)-maxScope))
	}
	if list == nil {
		list = []string{}
	}
	return list
}

// touches puts what a call would touch into short lines. What stands in an
// x-secret argument is left out.
func touches(c sentinel.Call) []string {
	secret := map[string]bool{}
	c.Skill().Walk(c.Parsed(), func(a skills.Arg) {
		if a.Marks.Has(skills.Secret) {
			secret[a.Name] = true
		}
	})
	all, seen := []string{}, map[string]bool{}
	add := func(arg, line string) {
		if !secret[arg] && !seen[line] {
			seen[line], all = true, append(all, line)
		}
	}
	t := c.Touch()
	for _, h := range t.Hosts {
		add(h.Arg, "host "+h.Name)
	}
	for _, r := range t.Recipients {
		add(r.Arg, "target "+r.Value)
	}
	for _, cmd := range t.Commands {
		add(cmd.Arg, "run "+orUnknown(cmd.Name))
	}
	for _, p := range t.Paths {
		if w := accessWord(p.Access); w != "" {
			add(p.Arg, w+" "+p.Clean)
		}
	}
	if n := len(all); n > maxTouches {
		all = append(all[:maxTouches], fmt.Sprintf("and %d more", n-maxTouches))
	}
	var k knife // its own: these texts stand in the arguments and are counted there
	for i := range all {
		all[i] = k.cut(all[i], maxTouch)
	}
	return all
}

func orUnknown(name string) string {
	if name == "" {
		return "an unknown program"
	}
	return name
}

// accessWord names the gravest access; a path that is only mentioned is none.
func accessWord(a touch.Access) string {
	switch {
	case a.Has(touch.Delete) && a.Has(touch.Write):
		return "change or delete"
	case a.Has(touch.Delete):
		return "delete"
	case a.Has(touch.Execute):
		return "execute"
	case a.Has(touch.Write):
		return "write"
	case a.Has(touch.Read):
		return "read"
	}
	return ""
}

// knife shortens texts and counts what it took away.
type knife struct {
	bytes int
	stuck bool // a key was too long
}

// cut keeps the beginning and the end of a text that is longer than limit: what
// an attacker appends stands at the end.
func (k *knife) cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head := boundary(s, limit*2/3)
	tail := len(s) - limit/3
	for tail < len(s) && s[tail]&0xc0 == 0x80 {
		tail++
	}
	k.bytes += tail - head
	return fmt.Sprintf("%s…[%d bytes cut]…%s", s[:head], tail-head, s[tail:])
}

func (k *knife) object(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for key, v := range m {
		if len(key) > maxKey {
			k.stuck = true
		}
		out[key] = k.value(v)
	}
	return out
}

func (k *knife) value(v any) any {
	switch v := v.(type) {
	case string:
		return k.cut(v, maxString)
	case map[string]any:
		return k.object(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = k.value(e)
		}
		return out
	}
	return v
}
