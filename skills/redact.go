package skills

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/internal/scrub"
)

// Hidden stands where a secret was.
const Hidden = scrub.Mark

// HiddenArgs stand in place of arguments whose secrets no schema marks.
const HiddenArgs = `{"hidden":"` + Hidden + `"}`

// Secretive reports whether the schema marks anything as x-secret.
func (s *Skill) Secretive() bool { return s.notes.secret }

// WithoutSecrets returns a copy of args in which every x-secret value is
// replaced by the text "[secret]".
func (s *Skill) WithoutSecrets(args map[string]any) map[string]any {
	out, _ := new(secretHider).hideSecrets(s.notes.root, args, true).(map[string]any)
	return out
}

// WithSizedSecrets returns a copy of args for a person who is asked about the call. In place of
// an x-secret text is its size, as in "[secret, 32 characters]"; what is secret and no text is
// "[secret]".
func (s *Skill) WithSizedSecrets(args map[string]any) map[string]any {
	out, _ := (&secretHider{sized: true}).hideSecrets(s.notes.root, args, true).(map[string]any)
	return out
}

// Redact returns arguments, as a model wrote them, the way others than the
// skill may see them: in place of x-secret values, and of those that the schema
// doesn't name, is Hidden. What is no JSON object, or names a key twice, is
// hidden whole. Arguments without a secret in them are returned as they came,
// and so are all of a skill that has none. Redacting twice changes nothing.
func (s *Skill) Redact(raw []byte) (shown []byte, hidden bool) {
	v := jsontext.Value(raw)
	switch {
	case !s.Secretive(), len(bytes.TrimSpace(raw)) == 0, string(bytes.TrimSpace(raw)) == "null":
		return raw, false
	case !v.IsValid() || v.Kind() != '{':
		return []byte(HiddenArgs), true
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var args map[string]any
	if d.Decode(&args) != nil {
		return []byte(HiddenArgs), true
	}
	h := secretHider{unnamed: true}
	out := h.hideSecrets(s.notes.root, args, true)
	if !h.hidden {
		return raw, false
	}
	b, err := plainjson.Marshal(out)
	if err != nil {
		return []byte(HiddenArgs), true
	}
	return b, true
}

// secretHider hides the secrets of arguments.
type secretHider struct {
	// unnamed hides too what the schema doesn't name. In arguments that no schema has
	// validated, a secret may stand under a name that is spelt wrong.
	unnamed bool
	sized   bool // a text's size stands in its place
	hidden  bool // something was
}

// markSecret is what stands in the place of a secret.
func (h *secretHider) markSecret(v any) string {
	text, ok := v.(string)
	if !h.sized || !ok {
		return Hidden
	}
	n := utf8.RuneCountInString(text)
	unit := " characters]"
	if n == 1 {
		unit = " character]"
	}
	return strings.TrimSuffix(Hidden, "]") + ", " + strconv.Itoa(n) + unit
}

// hideSecrets returns a value without its secrets. named says that the schema names it.
func (h *secretHider) hideSecrets(at view, v any, named bool) any {
	if h.unnamed && !named || at.unionMarks().Has(Secret) {
		h.hidden = true
		return h.markSecret(v)
	}
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			sub, _ := at.stepTo(k)
			m[k] = h.hideSecrets(sub, e, len(sub) > 0)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = h.hideSecrets(at.itemAt(i), e, true)
		}
		return l
	}
	return v
}

// secretAt reports whether a value is an x-secret one, or within one.
func (s *Skill) secretAt(loc []string) bool {
	if !s.Secretive() {
		return false
	}
	at := s.notes.root
	for _, part := range loc {
		if at.unionMarks().Has(Secret) {
			return true
		}
		sub, _ := at.stepTo(part)
		if i, err := strconv.Atoi(part); err == nil && i >= 0 {
			for _, n := range at.itemAt(i) {
				sub = sub.withNode(n)
			}
		}
		at = sub
	}
	return at.unionMarks().Has(Secret)
}
