package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/internal/scrub"
)

// PolicyText is what a policy's digest stands for. The digest covers both parts.
type PolicyText struct {
	// Text is JSON: what decides, in the words of the files, defaults included, with every skill. Secrets
	// and values of the environment are left out.
	Text []byte
	// Rest is a digest of all that decides, with what Text leaves out.
	Rest [sha256.Size]byte
}

// policyTag begins what a policy's digest is of.
const policyTag = "vedette/policy/v1\n"

// Digest returns the policy's digest: "sha256:" and hexadecimal digits.
func (p PolicyText) Digest() string {
	text := sha256.Sum256(p.Text)
	sum := sha256.Sum256(slices.Concat([]byte(policyTag), p.Rest[:], text[:]))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// policyDocument is PolicyText.Text.
type policyDocument struct {
	V             int            `json:"v"`
	Configuration map[string]any `json:"configuration"`
	Skills        []policySkill  `json:"skills"`
	// LeftOut are the places of what is left out.
	LeftOut []string `json:"left_out"`
}

// policySkill is a skill as a policy has it. Digest covers what is left out, too.
type policySkill struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	// Program says that the program runs it.
	Program bool           `json:"program,omitempty"`
	Spec    map[string]any `json:"spec"`
}

// writePolicyText returns what a configuration's digest stands for.
func writePolicyText(c Config) PolicyText {
	w := policyWriter{where: c.where, leftOut: []string{}}
	doc := policyDocument{V: 1, Configuration: w.writeConfiguration(c), Skills: []policySkill{}}
	for _, s := range c.Skills {
		name := s.Skill.Name()
		doc.Skills = append(doc.Skills, policySkill{name, s.Skill.Digest(), s.Known, w.writeSkill(s)})
	}
	slices.SortFunc(doc.Skills, func(a, b policySkill) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(w.leftOut)
	doc.LeftOut = slices.Compact(w.leftOut)
	text, _ := plainjson.Marshal(doc) // plain data: nothing in it can fail
	return PolicyText{text, c.digestWhole()}
}

// policyWriter writes configurations without what is secret in them.
type policyWriter struct {
	where   *index
	leftOut []string
}

// policyKeys are the keys of a configuration that decide, and that its digest covers.
var policyKeys = []string{
	"version", "models", "roles", "permissions_default", "permissions", "guard", "judge", "sentinel", "limits", "approvals", "answers",
	"ledger.values", "journal", "intent",
}

// writeConfiguration returns what decides of a configuration.
func (w *policyWriter) writeConfiguration(c Config) map[string]any {
	c.Models = maps.Clone(c.Models)
	for name, m := range c.Models {
		m.BaseURL = safeURL(m.BaseURL)
		c.Models[name] = m
	}
	c.Approvals.Notify = nil // whom it tells changes no decision
	whole, _ := w.writeValue("", reflect.ValueOf(c)).(map[string]any)
	out := map[string]any{}
	for _, key := range policyKeys {
		top, below, nested := strings.Cut(key, ".")
		if key == "intent" && !c.Intent.IsOn() {
			continue
		}
		value := whole[top]
		if part, ok := value.(map[string]any); nested && ok {
			value = map[string]any{below: part[below]}
		}
		out[top] = value
	}
	if part, ok := whole["proxy"].(map[string]any); ok && c.Proxy.IsOn() {
		out["proxy"] = map[string]any{"mode": part["mode"], "tools": part["tools"]}
	}
	return out
}

// writeValue returns a value of a configuration in the words of its file: maps, lists, texts and
// numbers. path is its place.
func (w *policyWriter) writeValue(path string, v reflect.Value) any {
	if out, special := w.writeSpecial(path, v); special {
		return out
	}
	switch v.Kind() {
	case reflect.Struct:
		return w.writeStruct(path, v)
	case reflect.Map:
		out := map[string]any{}
		for _, key := range v.MapKeys() {
			out[key.String()] = w.writeValue(joinConfigPath(path, key.String()), v.MapIndex(key))
		}
		return out
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = w.writeValue(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
		return out
	case reflect.String:
		return w.writeText(path, v.String())
	case reflect.Bool:
		return v.Bool()
	case reflect.Int, reflect.Int64:
		return v.Int()
	}
	return nil
}

// writeSpecial writes the types that stand for one value in a file.
func (w *policyWriter) writeSpecial(path string, v reflect.Value) (out any, special bool) {
	if !v.CanInterface() {
		return nil, true
	}
	switch x := v.Interface().(type) {
	case Secret, Position:
		return nil, true
	case time.Duration:
		return x.String(), true
	case Hundredths:
		return float64(x) / 100, true
	case Cost:
		return float64(x) / 1e6, true
	case Constant:
		var plain any
		if json.Unmarshal(x, &plain) != nil {
			return nil, true
		}
		return w.writePlain(path, plain, w.writeText), true
	}
	return nil, false
}

// writeStruct writes the fields of a struct under the keys of the file. What no file holds is left
// out, the text of the review's own prompt aside.
func (w *policyWriter) writeStruct(path string, v reflect.Value) map[string]any {
	out := map[string]any{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if f.Name == "PromptText" {
			key = "prompt_text"
		}
		if key == "" || key == "-" || f.Tag.Get("json") == "-" || !f.IsExported() { // the path of a prompt decides nothing
			continue
		}
		if value := w.writeValue(joinConfigPath(path, key), v.Field(i)); value != nil {
			out[key] = value
		}
	}
	return out
}

// writeText writes a text. What the environment gave stands there as the file has it: ${NAME}.
func (w *policyWriter) writeText(path, s string) any {
	if w.where == nil {
		return s
	}
	if n, _ := w.where.findConfigPath(path); n != nil && n.kind == scalarNode && n.outside && n.raw != "" {
		w.leftOut = append(w.leftOut, path)
		return n.raw
	}
	shown := w.where.hidden.hideValues(s)
	for _, f := range slices.Backward(scrub.Find(shown, maxFound)) {
		if !f.Labelled { // a rule may well speak of passwords
			shown = shown[:f.From] + redacted + shown[f.To:]
		}
	}
	if shown != s {
		w.leftOut = append(w.leftOut, path)
	}
	return shown
}

// maxFound is how many secrets are looked for in one text.
const maxFound = 100

// writeSkill returns a skill's declaration without what is secret in it.
func (w *policyWriter) writeSkill(s LoadedSkill) map[string]any {
	spec := s.Skill.Spec()
	base, kind := SkillPath(s.Skill.Name(), ""), spec.Run.Kind
	options := spec.Run.Options
	spec.Run.Options = nil
	var plain, run any
	if b, err := json.Marshal(spec); err != nil || json.Unmarshal(b, &plain) != nil {
		return nil
	}
	out, _ := w.writePlain(base, plain, w.writeText).(map[string]any)
	if out == nil {
		return nil
	}
	out["timeout"] = spec.Timeout.String()
	if len(options) > 0 && json.Unmarshal(options, &run) == nil {
		out["run"] = map[string]any{"kind": kind, "options": w.writePlain(joinConfigPath(base, "run."+kind), run, w.writeOption)}
	}
	return out
}

// writePlain writes a decoded value, each text by write.
func (w *policyWriter) writePlain(path string, v any, write func(path, s string) any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = w.writePlain(joinConfigPath(path, key), value, write)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			if i > 0 && namesSecret(v[i-1]) {
				out[i] = w.leaveOut(fmt.Sprintf("%s[%d]", path, i))
				continue
			}
			out[i] = w.writePlain(fmt.Sprintf("%s[%d]", path, i), value, write)
		}
		return out
	case string:
		return write(path, v)
	}
	return v
}

// namesSecret reports whether a word of a command line says that the next one is secret: --token.
func namesSecret(word any) bool {
	s, ok := word.(string)
	return ok && strings.HasPrefix(s, "-") && !strings.Contains(s, "=") && scrub.Looks(s, "value")
}

// writeOption writes a text among the options of a way to run, where secrets stand by custom: headers,
// variables, addresses.
func (w *policyWriter) writeOption(path, s string) any {
	shown, isText := w.writeText(path, s).(string)
	if !isText || shown != s {
		return shown
	}
	name := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case strings.Contains(path, ".headers.") && len(scrub.OfHeader(name, s)) > 0,
		strings.Contains(path, ".set_env.") && len(scrub.OfVariable(name, s)) > 0,
		isOptionName(name) && scrub.Looks(name, s) && !strings.Contains(path, ".credentials."):
		return w.leaveOut(path)
	}
	if secrets := scrub.OfURL(s); len(secrets) > 0 {
		shown = scrub.New(secrets...).Text(s)
		if address, ok := scrub.Address(s); ok && shown == s {
			shown = address // a password too short to be looked for
		}
	}
	for _, f := range slices.Backward(scrub.Find(shown, maxFound)) {
		shown = shown[:f.From] + redacted + shown[f.To:]
	}
	if shown != s {
		w.leftOut = append(w.leftOut, path)
	}
	return shown
}

// isOptionName reports whether the last part of a path is a key, and no place in a list.
func isOptionName(name string) bool { return name != "" && !strings.HasSuffix(name, "]") }

// leaveOut takes down that a value is left out, and returns what stands for it.
func (w *policyWriter) leaveOut(path string) string {
	w.leftOut = append(w.leftOut, path)
	return redacted
}
