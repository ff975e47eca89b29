package llm

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// folded reports whether an object of the body has two names that differ in case
// alone. What decodes the body takes either for the field, so the one that
// nobody looks at could replace the other.
func folded(body []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(body))
	var open []map[string]bool // of each object or array around; nil for an array
	for {
		name := isName(d)
		t, err := d.ReadToken()
		if err != nil { // its end, since it was valid
			return false
		}
		switch t.Kind() {
		case '{':
			open = append(open, map[string]bool{})
		case '[':
			open = append(open, nil)
		case '}', ']':
			open = open[:len(open)-1]
		case '"':
			if !name {
				continue
			}
			key := strings.ToLower(t.String())
			names := open[len(open)-1]
			if names[key] {
				return true
			}
			names[key] = true
		}
	}
}

// isName reports whether the next token is a name of an object.
func isName(d *jsontext.Decoder) bool {
	kind, n := d.StackIndex(d.StackDepth())
	return kind == '{' && n%2 == 0
}
