package intent

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/vedette-dev/vedette/sentinel/intent/fold"
)

// Bounds of the parts of an intent.
const (
	// MaxTopic is the greatest length of a topic in characters, MaxReference that of a reference.
	MaxTopic     = 100
	MaxReference = 100
	// MaxReferences is how many references an intent may have, MaxListed how many of each other list.
	MaxReferences = 10
	MaxListed     = 20
)

// Errors of what can't be part of an intent. Their texts hold no word of a user.
var (
	ErrTopic     = errors.New("the topic has no letter or digit, or mixes scripts that look alike")
	ErrReference = fmt.Errorf("a reference is no id: use 1 to %d letters, digits, '_' and '-'", MaxReference)
	ErrDomain    = errors.New("a domain is no host name such as example.com")
	ErrTooMany   = errors.New("the intent lists too many of one kind")
	ErrRange     = errors.New("a number is negative or too large")
	ErrDate      = errors.New("the deadline is no date such as 2026-12-31")
)

// Topic is what an intent is about: letters, digits and underscores, as NewTopic leaves them. The zero Topic is none.
type Topic struct{ id string }

// String is the topic's id.
func (t Topic) String() string { return t.id }

// NewTopic makes the id of a text: small letters, an underscore for each run of what is no letter or digit, none at the
// end, one in front of a digit, at most MaxTopic characters. Marks on letters are left out. ErrTopic: nothing is left,
// or a word mixes letters of scripts that look alike.
func NewTopic(text string) (Topic, error) {
	var b strings.Builder
	n, gap := 0, false
	plain := fold.Plain(text)
	for word := range strings.FieldsFuncSeq(plain, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(fold.Scripts(word)) > 0 {
			return Topic{}, ErrTopic
		}
	}
	for _, r := range plain {
		if !unicode.IsLetter(r) && !isDigit(r) {
			gap = true
			continue
		}
		if n == 0 && isDigit(r) || gap && n > 0 {
			if n >= MaxTopic-1 {
				break
			}
			b.WriteByte('_')
			n++
		}
		gap = false
		if n == MaxTopic {
			break
		}
		b.WriteRune(r)
		n++
	}
	if b.Len() == 0 {
		return Topic{}, ErrTopic
	}
	return Topic{b.String()}, nil
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// Words are the parts of a topic between underscores.
func (t Topic) Words() []string {
	return strings.FieldsFunc(t.id, func(r rune) bool { return r == '_' })
}

// Reference is the id of a document or another thing that the user names. The zero Reference is none.
type Reference struct{ id string }

// String is the id.
func (r Reference) String() string { return r.id }

var referenceRE = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

// NewReference returns the reference of an id. ErrReference: it is none, and nothing is made of it.
func NewReference(id string) (Reference, error) {
	if !referenceRE.MatchString(id) {
		return Reference{}, ErrReference
	}
	return Reference{id}, nil
}

// Domain is the name of a host to which work is bound. The zero Domain is none.
type Domain struct{ host string }

// String is the host's name in small letters.
func (d Domain) String() string { return d.host }

var domainRE = regexp.MustCompile(`^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$`)

// NewDomain returns the domain of a host's name. ErrDomain: it is none.
func NewDomain(host string) (Domain, error) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if len(host) > 253 || !domainRE.MatchString(host) {
		return Domain{}, ErrDomain
	}
	return Domain{host}, nil
}
