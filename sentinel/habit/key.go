package habit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// key is what calls of one habit have in common, byte for byte. Numbers are apart: they may
// be less.
type key struct {
	parts   []string
	numbers map[string]float64
}

// keyOf returns the key of a call; ok is false for a call that can have no habit.
func keyOf(c sentinel.Call) (k key, ok bool) {
	s, user, touch := c.Skill(), c.Grant().User(), c.Touch()
	_, follows := c.Follows()
	if s == nil || user == "" || c.Tainted() || c.Grant().MissionTainted() || follows || strings.HasPrefix(s.Name(), "agent.") ||
		len(touch.Recipients) == 0 || len(touch.Commands) > 0 {
		return key{}, false
	}
	r := keyReader{key: key{parts: []string{user, s.Name(), s.Digest()}, numbers: map[string]float64{}}, known: true,
		annotated: s.Annotated(), named: map[string]bool{}, amounts: map[string]bool{}}
	for _, x := range touch.Recipients {
		r.named[x.Value] = true
	}
	for _, x := range touch.Amounts {
		r.amounts[x.Value] = true
	}
	s.Walk(c.Parsed(), r.takeArg)
	for _, x := range touch.Recipients { // also those that stand inside a longer text
		r.key.parts = append(r.key.parts, "to", x.Arg, x.Value)
	}
	for _, x := range touch.Hosts {
		r.key.parts = append(r.key.parts, "host", x.Arg, x.Name)
	}
	return r.key, r.known
}

// digest is the reference of the key. It tells nothing of the names to who lacks the secret.
func (k key) digest(secret [32]byte) string {
	h := hmac.New(sha256.New, secret[:])
	h.Write([]byte("habit"))
	for _, p := range k.parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write([]byte(p))
	}
	return "habit/hmac:" + hex.EncodeToString(h.Sum(nil))
}

// keyReader gathers a key from the arguments of a call.
type keyReader struct {
	key       key
	annotated bool
	known     bool            // every argument is one that the schema names
	named     map[string]bool // recipients
	amounts   map[string]bool
}

// takeArg adds an argument. Content and prose may differ between calls of one habit, and so
// may dates; secrets are in no key.
func (r *keyReader) takeArg(a skills.Arg) {
	r.known = r.known && a.Declared
	switch v := a.Value.(type) {
	case json.Number:
		if isIDName(a.Name) || r.annotated && a.Marks.Has(skills.Target) {
			r.add(a, "="+v.String())
			return
		}
		r.addNumber(a, v.String())
	case string:
		switch {
		case a.Marks.Has(skills.Secret):
		case r.amounts[v] && plainNumber.MatchString(v):
			r.addNumber(a, v)
		case r.named[v], r.annotated && a.Marks&(skills.Target|skills.URL|skills.Path|skills.Shell) != 0:
			r.add(a, "="+v)
		case a.Marks.Has(skills.Content), dateShape.MatchString(v), isProse(a.Name, v):
		default:
			r.add(a, "="+v)
		}
	case bool:
		r.add(a, strconv.FormatBool(v))
	default:
		r.add(a, "null")
	}
}

func (r *keyReader) add(a skills.Arg, value string) {
	r.key.parts = append(r.key.parts, a.Pointer, value)
}

// addNumber adds that there is a number, and what it is apart.
func (r *keyReader) addNumber(a skills.Arg, s string) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		r.known = false
		return
	}
	r.add(a, "#")
	r.key.numbers[a.Pointer] = n
}

var (
	plainNumber = regexp.MustCompile(`^-?\d{1,15}(\.\d{1,9})?$`)
	dateShape   = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}([T ][0-9:.+\-Z]*)?$`)
)

// maxName is how long in bytes a text is at most that may be a name.
const maxName = 64

// isProse reports whether a text is what somebody says. Its argument's last word tells, or its
// length where it has blanks. "message_id", "note_url" and "content_file" name a thing, and so
// does "note" with one word: another message, note or file is another habit.
func isProse(arg, v string) bool {
	parts := nameParts(arg)
	if len(parts) == 0 || slices.ContainsFunc(parts, func(p string) bool { return idNames[p] || thingNames[p] }) {
		return false
	}
	last, hasBlanks := parts[len(parts)-1], strings.ContainsAny(strings.TrimSpace(v), " \n\t")
	switch {
	case proseNames[last]:
		return true
	case namingNames[last]:
		return hasBlanks
	}
	return len(v) > maxName && hasBlanks
}

// isIDName reports whether a number under this name is no quantity.
func isIDName(arg string) bool {
	for _, part := range nameParts(arg) {
		if idNames[part] {
			return true
		}
	}
	return false
}

func nameParts(name string) []string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) })
}

func wordSet(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

var (
	proseNames = wordSet("body text description reason summary memo comment")
	// namingNames are of prose, and of what stands for a thing that has this name.
	namingNames = wordSet("message content note subject title")
	// thingNames are of things that go along, whatever stands beside them in a name.
	thingNames = wordSet(`file files filename filepath path paths folder directory url urls uri link links href attachment attachments
		attach image photo document doc key token handle name names`)
	idNames = wordSet("id ids iban account acct number no ref reference code routing bic card phone user owner channel thread")
)
