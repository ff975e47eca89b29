package policy

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/skills"
)

// LintMild is the code of a skill whose declared effect looks too mild. The
// other codes are those of package permission.
const LintMild = "skill.mild_effect"

// Finding is something in a configuration that is allowed and looks wrong.
type Finding struct {
	Code    string `json:"code"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// Lint looks for rules that do nothing and for skills whose effect looks milder than what
// they do. It errs on the side of silence. The findings are sorted by place.
func Lint(cfg *config.Config) ([]Finding, error) {
	found, err := assembly.LintRules(cfg)
	if err != nil {
		return nil, err
	}
	out := []Finding{}
	for _, f := range found {
		at, _ := cfg.Pos(f.Path)
		out = append(out, Finding{f.Code, at.File, at.Line, at.Column, f.Path + ": " + f.Msg})
	}
	for _, s := range cfg.Skills {
		if msg := explainMildEffect(s.Skill); msg != "" {
			path := config.SkillPath(s.Skill.Name(), "effect")
			at, ok := cfg.Pos(path)
			if !ok {
				at = s.Pos
			}
			out = append(out, Finding{LintMild, at.File, at.Line, at.Column, path + ": " + msg})
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			strings.Compare(a.Code, b.Code))
	})
	return out, nil
}

// weightOf orders effects by how much they ask for care.
func weightOf(e skills.Effect) int { return slices.Index(skills.Effects(), e) }

// verbs are words of a skill's name that say what it does. least is the mildest effect that
// is believed of each.
var verbs = []struct {
	words []string
	least skills.Effect
}{
	{[]string{"delete", "remove", "drop", "destroy", "wipe", "purge", "erase", "truncate", "uninstall", "terminate", "revoke"}, skills.Modify},
	{[]string{"update", "set", "edit", "change", "rename", "move", "replace", "patch", "merge", "enable",
		"disable", "reset", "cancel", "assign"}, skills.Modify},
	{[]string{"create", "add", "new", "insert", "write", "save", "upload", "append", "copy", "import", "register", "book"}, skills.Create},
	{[]string{"send", "reply", "forward", "publish", "post", "tweet", "transfer", "pay", "refund", "wire", "execute", "exec", "shell"},
		skills.Irreversible},
	{[]string{"buy", "purchase", "charge", "withdraw", "donate", "checkout"}, skills.CostsMoney},
}

// explainMildEffect says why the declared effect looks too mild; empty where it doesn't.
func explainMildEffect(s *skills.Skill) string {
	spec := s.Spec()
	if least, word := believeName(s.Name()); weightOf(spec.Effect) < weightOf(least) {
		return "is " + string(spec.Effect) + ", but the skill's name says " + word + "; declare at least " + string(least) +
			", or choose another name"
	}
	if method := httpMethod(spec.Run); method != "" && spec.Effect == skills.Read {
		return "is read, but the skill sends an HTTP " + method + ", which changes something; declare create, modify or more"
	}
	for _, name := range s.DeclaredArgs() {
		if marks, _ := s.ArgMarks(name); marks.Has(skills.Shell) && weightOf(spec.Effect) < weightOf(skills.Irreversible) {
			return "is " + string(spec.Effect) + ", but the argument " + name +
				" is a command line, which can do anything; declare at least irreversible"
		}
	}
	return ""
}

// believeName reads the effect out of the first word of the action, the last part of the name.
func believeName(name string) (skills.Effect, string) {
	action := name[strings.LastIndexByte(name, '.')+1:]
	first, _, _ := strings.Cut(strings.ReplaceAll(action, "-", "_"), "_")
	for _, v := range verbs {
		if slices.Contains(v.words, first) {
			return v.least, first
		}
	}
	return skills.Read, ""
}

// httpMethod is the method of a skill that runs over HTTP, where that is one
// that changes something.
func httpMethod(r skills.Run) string {
	var o struct {
		Method string `json:"method"`
	}
	if r.Kind != "http" || json.Unmarshal(r.Options, &o) != nil {
		return ""
	}
	switch m := strings.ToUpper(o.Method); m {
	case "PUT", "PATCH", "DELETE":
		return m
	}
	return ""
}
