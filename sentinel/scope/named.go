package scope

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// stepNames are the words in the names of arguments and of skills that hold what is to be run: the
// steps of a workflow, the skill of a task.
var stepNames = wordSet(`skill skills step steps tool tools action actions function functions uses plan plans workflow workflows
	task tasks call calls job jobs operation operations command commands pipeline pipelines node nodes capability capabilities run runs
	method methods`)

func wordSet(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		out[w] = true
	}
	return out
}

// ownDomain is of the orchestrator's own skills.
const ownDomain = "agent."

// workflowNames are the words in the names of skills that run others: all their arguments may name
// steps.
var workflowNames = wordSet("workflow workflows pipeline pipelines automation automations routine routines macro macros")

// namesSteps reports whether any argument of a call may name steps.
func namesSteps(c sentinel.Call) bool {
	return holdsName(c.Name(), workflowNames) || anyKeyNamesSteps(c.Parsed())
}

func anyKeyNamesSteps(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if holdsName(k, stepNames) || anyKeyNamesSteps(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, anyKeyNamesSteps)
	}
	return false
}

// eachKey calls fn for the pointer of each key, those of empty objects included.
func eachKey(v any, at string, fn func(pointer string)) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			pointer := at + "/" + escapeKey(k)
			fn(pointer)
			eachKey(e, pointer, fn)
		}
	case []any:
		for _, e := range v {
			eachKey(e, at, fn)
		}
	}
}

var keyEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// escapeKey is a key as a pointer holds it.
func escapeKey(k string) string {
	if !strings.ContainsAny(k, "~/") { // as in most keys
		return k
	}
	return keyEscapes.Replace(k)
}

func lastKey(pointer string) string {
	return unescapeKey(pointer[strings.LastIndexByte(pointer, '/')+1:])
}

// judgeNamed refuses a call whose arguments name skills, as those of a workflow do, that the
// grant doesn't hold. A workflow would run them in the agent's place.
func (g *Gate) judgeNamed(c sentinel.Call) sentinel.Verdict {
	var outside, args []string
	held := c.Grant().Scope()
	runsSteps := holdsName(c.Name(), workflowNames)
	take := func(pointer, text string) {
		if !runsSteps && !holdsName(pointer, stepNames) {
			return
		}
		for _, name := range g.namedSkills(text) {
			if g.withdrawn[name] || len(namesOutside([]string{name}, held)) > 0 {
				outside = append(outside, name)
				if arg := topLevelName(pointer); c.Skill().Declares(arg) && !slices.Contains(args, arg) {
					args = append(args, arg)
				}
			}
		}
	}
	eachKey(c.Parsed(), "", func(pointer string) { take(pointer, lastKey(pointer)) })
	c.WalkArgs(func(a skills.Arg) {
		if s, ok := a.Text(); ok && !isNoStep(a) {
			take(a.Pointer, s)
		}
	})
	if len(outside) == 0 {
		return sentinel.Pass()
	}
	slices.Sort(outside)
	outside = slices.Compact(outside)
	v := sentinel.Refuse(CodeNamedSkills, fmt.Sprintf("%d of the skills that its arguments name are not in the grant", len(outside)))
	v.Evidence = []sentinel.Evidence{{Signal: strings.TrimPrefix(CodeNamedSkills, sentinel.GateScope+"."), Args: args}}
	v.Detail = strings.Join(outside[:min(len(outside), maxNamed)], ", ")
	v.WhatYouCanDo = "name only skills that you hold yourself, or ask for help"
	return v
}

// isNoStep reports whether an argument is a secret, holds what somebody says or reads, or names a
// file, a page or a command.
func isNoStep(a skills.Arg) bool {
	const marks = skills.Secret | skills.Content | skills.Path | skills.URL | skills.Shell
	return a.Marks&marks != 0 && a.Declared || saidNames[strings.ToLower(a.Name)]
}

// saidNames are of arguments that hold prose.
var saidNames = wordSet("note notes description comment comments title subject body message text reason summary")

// holdsName reports whether a name, or one that it lies in, has one of the words: "skill_name",
// "nextStep", "STEPS".
func holdsName(name string, words map[string]bool) bool {
	name = splitHumps(name)
	start := 0
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] >= 'a' && name[i] <= 'z' {
			continue
		}
		if start < i && words[name[start:i]] {
			return true
		}
		start = i + 1
	}
	return false
}

// splitHumps writes a name in small letters, with a sign before each capital behind a small one.
func splitHumps(s string) string {
	if !hasCapital(s) {
		return s
	}
	var b strings.Builder
	small := false
	for _, r := range s {
		capital := r >= 'A' && r <= 'Z'
		if capital {
			if small {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		small = !capital
		b.WriteRune(r)
	}
	return b.String()
}

func hasCapital(s string) bool {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' {
			return true
		}
	}
	return false
}

// maxNamedWords bounds the words of one text that are looked at.
const maxNamedWords = 4 << 10

// namedSkills returns the skills that a text names, in whatever place and spelling: folded, within
// JSON or a list, called ("bank.pay(500)"), behind other names ("functions.bank.pay"), with other
// signs between its parts ("bank_pay", "bank/pay"). A domain of some is named by "bank.*".
func (g *Gate) namedSkills(text string) []string {
	if isPlainWord(text) { // as most keys are
		if _, known := g.reg.Get(text); known && len(text) <= skills.MaxName {
			return []string{text}
		}
		return nil
	}
	var out []string
	n := 0
	text = strings.TrimSpace(foldVisible(text))
	if strings.Contains(text, `\`) { // it may be JSON with escapes
		text += "\n" + strings.TrimSpace(foldVisible(sentinel.MeantText(text)))
	}
	for w := range strings.FieldsFuncSeq(text, isBetweenNames) {
		if n++; n > maxNamedWords {
			break
		}
		name := g.findNamed(strings.Trim(w, "-._/:*") + domainMark(w))
		isName := strings.Contains(name, ".") || name != "" && name == text // other single words are prose
		if isName && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// isPlainWord reports whether a text is small letters and digits alone, so that folding and
// splitting leave it as it is.
func isPlainWord(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}

// foldVisible folds a text without the characters that are not shown.
func foldVisible(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf && unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, sentinel.FoldText(text))
}

func isBetweenNames(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/:*", r)
}

// domainMark is what names all of a domain at the end of a word.
func domainMark(w string) string {
	if strings.HasSuffix(w, ".*") {
		return ".*"
	}
	return ""
}

// findNamed returns the skill, or the skills of a domain, that a word names; "" where it is none.
func (g *Gate) findNamed(w string) string {
	if _, known := g.reg.Get(w); known && len(w) <= skills.MaxName {
		return w
	}
	if !strings.ContainsAny(w, "._-/:") { // one part alone, as most words are
		return ""
	}
	parts := strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune("._-/:", r) })
	if len(parts) < 2 || len(parts) > maxParts {
		return ""
	}
	for i := range len(parts) - 1 {
		name := strings.Join(parts[i:], ".")
		if len(name) > skills.MaxName {
			continue
		}
		if _, known := g.reg.Get(name); known {
			return name
		}
		if known, ok := g.spelled[strings.Join(parts[i:], "")]; ok {
			return known
		}
		if s, err := skills.NewScope(name); err == nil && strings.HasSuffix(name, "*") && len(g.reg.InScope(s)) > 0 {
			return name
		}
	}
	return ""
}

// maxParts is how many parts a word has that may name a skill.
const maxParts = 8

// keyUnescapes undoes keyEscapes.
var keyUnescapes = strings.NewReplacer("~1", "/", "~0", "~")

// unescapeKey is a key of a pointer as it is meant.
func unescapeKey(key string) string {
	if strings.IndexByte(key, '~') < 0 { // as in most keys
		return key
	}
	return keyUnescapes.Replace(key)
}

func topLevelName(pointer string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	return unescapeKey(name)
}
