package sentinel

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// parts are a trusted result in two: what its skill vouches for, and what the subjects of its
// records wrote.
type parts struct{ trusted, strangers string }

// partsOf splits a result by the names of fields. Fields that can't be told apart are all a
// stranger's.
func (s Step) partsOf() parts {
	if len(s.StrangerFields) == 0 || s.Result == "" {
		return parts{trusted: s.Result}
	}
	return s.readingOf().parts.get(func() parts {
		d := json.NewDecoder(strings.NewReader(s.Result))
		d.UseNumber()
		var at any
		if d.Decode(&at) != nil || d.More() {
			return parts{strangers: s.Result}
		}
		var taken []any
		kept, err := json.Marshal(takeFields(at, s.StrangerFields, &taken))
		said, err2 := json.Marshal(taken)
		switch {
		case err != nil || err2 != nil:
			return parts{strangers: s.Result}
		case len(taken) == 0:
			return parts{trusted: s.Result}
		}
		return parts{string(kept), strings.TrimSpace(decodeScalars(string(said)))}
	})
}

// takeFields returns a value without the fields of these names, which it adds to taken.
func takeFields(at any, names []string, taken *[]any) any {
	switch at := at.(type) {
	case map[string]any:
		for k, e := range at {
			if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, k) }) {
				*taken = append(*taken, e)
				delete(at, k)
				continue
			}
			at[k] = takeFields(e, names, taken)
		}
	case []any:
		for i, e := range at {
			at[i] = takeFields(e, names, taken)
		}
	case string:
		return takeFromText(at, names, taken)
	}
	return at
}

// takeFromText takes the fields out of a text that holds JSON. A text that has such a field and
// can't be taken apart is all a stranger's.
func takeFromText(s string, names []string, taken *[]any) any {
	if !quotesAny(s, names) {
		return s
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var at any
	if err := d.Decode(&at); err == nil && !d.More() {
		before := len(*taken)
		kept, err := json.Marshal(takeFields(at, names, taken))
		if err == nil && len(*taken) > before {
			return string(kept)
		}
	}
	*taken = append(*taken, s)
	return ""
}

// quotesAny reports whether a text has one of the names in quotation marks, escaped or not.
func quotesAny(s string, names []string) bool {
	fold := strings.ToLower(s)
	return slices.ContainsFunc(names, func(n string) bool {
		n = strings.ToLower(n)
		return strings.Contains(fold, `"`+n+`"`) || strings.Contains(fold, `"`+n+`\`)
	})
}

// trustedText is the result without what strangers wrote in a trusted one.
func (s Step) trustedText() string {
	if s.Trust != skills.Trusted {
		return s.Result
	}
	return s.partsOf().trusted
}

// strangersText is what strangers wrote in a trusted result.
func (s Step) strangersText() string {
	if s.Trust != skills.Trusted {
		return ""
	}
	return s.partsOf().strangers
}

// HasStrangers reports whether a stranger wrote some of the result: all of an untrusted one,
// and the fields that their subject writes of a trusted one.
func (s Step) HasStrangers() bool { return s.Trust != skills.Trusted || s.strangersText() != "" }

// isStrange reports whether a stranger wrote what fits looks for, however it is encoded.
func (s Step) isStrange(fits func(*Said) bool) bool {
	if s.Trust != skills.Trusted {
		return s.answersWith(fits)
	}
	text := s.strangersText()
	if text == "" {
		return false
	}
	if said := newSaid(text); fits(said) {
		return true
	}
	loose := undoEscapes(text, false)
	return loose != nil && fits(loose)
}
