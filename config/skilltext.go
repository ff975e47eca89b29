package config

import (
	"bytes"
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// textDomain is put before the name of a SKILL.md, which has no domain.
const textDomain = "skill."

// skillText reads a SKILL.md: front matter between two lines of dashes, then
// text. It comes from outside as a rule, so it may say what it is called and
// what it takes, and nothing about what it may do: its effect is irreversible,
// it has no way to run, its text is untrusted, ${NAME} stays as it is (models
// read the description), and keys that other tools have ("allowed-tools",
// "license") mean nothing here.
func (l *loader) skillText(name string, src []byte) {
	at := Position{name, 1, 1}
	if len(src) > MaxFile {
		l.broken = true
		l.out.add(at, "the file has more than %d bytes", MaxFile)
		return
	}
	head, body, ok := frontMatter(src)
	if !ok {
		l.broken = true
		l.out.add(at, "a SKILL.md starts with front matter: name and description between two lines of ---")
		return
	}
	n := parseYAML(name, head, l.out, withoutEnv)
	if n == nil || n.kind != mappingNode {
		l.broken = true
		if n != nil {
			l.out.add(n.pos, "the front matter must be a mapping with name and description")
		}
		return
	}
	l.addText(n, body)
}

// frontMatter splits src at the second line of dashes. The first stays in the
// head, so that its lines keep their numbers.
func frontMatter(src []byte) (head, body []byte, ok bool) {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	first, _, _ := bytes.Cut(src, []byte("\n"))
	if strings.TrimRight(string(first), " \t\r") != "---" {
		return nil, nil, false
	}
	for at := len(first) + 1; at < len(src); {
		line, _, _ := bytes.Cut(src[at:], []byte("\n"))
		next := min(len(src), at+len(line)+1)
		if strings.TrimRight(string(line), " \t\r") == "---" {
			return src[:at], src[next:], true
		}
		at = next
	}
	return nil, nil, false
}

func (l *loader) addText(n *node, body []byte) {
	bad := len(l.out.list)
	e := skillEntry{Effect: skills.Irreversible}
	for i := range n.entries {
		en := &n.entries[i]
		switch en.key {
		case "name":
			e.Name = l.textOf(en)
			if !strings.Contains(e.Name, ".") {
				e.Name = textDomain + e.Name
			}
		case "description":
			e.Description = l.textOf(en)
		case "parameters":
			if raw, ok := l.dec.json(place{en.val, en.pos, "parameters"}); ok {
				e.Parameters = raw
			}
		case "run":
			l.out.add(en.pos, "a SKILL.md can't say how it runs; declare a skill with run in a YAML file")
		}
	}
	if n.get("name") == nil {
		l.out.add(n.pos, "name is missing")
	}
	if len(l.out.list) > bad {
		l.broken = true
		return
	}
	l.pending = append(l.pending, pending{n: n, base: SkillPath(e.Name, ""), spec: skills.Spec(e), text: string(body), clean: true})
}

func (l *loader) textOf(en *entry) string {
	if en.val.kind != scalarNode || en.val.bad || en.val.isNull() {
		l.out.add(en.pos, "%s must be text", en.key)
		return ""
	}
	return en.val.text
}
