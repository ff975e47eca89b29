package review

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// Limits of a question in bytes. A string beyond its limit is cut in the middle;
// a document beyond maxDocument, or a key beyond maxKey, is not asked about: a
// key that was cut could collide with another.
const (
	maxText        = 4000 // of the request and of the mission
	maxString      = 2000 // of one string in the arguments
	maxKey         = 200
	maxDescription = 300
	maxTouch       = 160
	maxDocument    = 24 << 10
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
	k := &knife{}
	spec := s.Spec()
	d := document{
		Mission: k.cut(g.Mission(), maxText), MissionBy: author(g.MissionBy()), MissionTainted: g.MissionTainted(),
		Agent: g.Agent(), Scope: scopeOf(g.Scope()),
		Skill: skillPart{s.Name(), string(s.Effect()), string(s.Reaches()), k.cut(spec.Description, maxDescription)},
		// The copy's secrets are replaced; only the copy is cut.
		Arguments: k.object(s.WithoutSecrets(c.Parsed())),
		Touches:   touches(c), Outward: c.Outward(), Tainted: c.Tainted(),
	}
	if r, ok := g.Request(); ok && strings.TrimSpace(r) != "" {
		r = k.cut(r, maxText)
		d.Request = &r
	}
	d.CutBytes = k.bytes
	b, err := json.Marshal(d)
	if err != nil || k.stuck || len(b) > maxDocument {
		return "", false
	}
	return string(b), true
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
