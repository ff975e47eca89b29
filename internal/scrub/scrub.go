// Package scrub takes secrets out of texts. What a server or a program answers may hold the
// header or the variable that it was given; a mistake in a configuration may quote a value
// of the environment.
//
// A secret is found as it is, in base64 at any offset, in hex, percent-encoded, quoted as in
// Go, escaped as JSON or HTML (each of them up to twice), and across line breaks. Its
// first half is found too, for texts that were shortened. What was cut at its end
// loses the beginning of a secret there.
//
// What a schema marks as secret is hidden by its place and not by its text: that is
// Skill.Redact of package skills. Both leave the same Mark.
//
// # Short values
//
// A secret of MinLength bytes or more is found anywhere. One of MinWord to
// MinLength-1 bytes is found where it stands as a word of its own, and as it is
// alone: it would be part of too many words. A shorter one isn't looked for,
// since its place says more than its text. Use longer secrets.
//
// # What not to do
//
// Don't take it for a defence against a hostile server. Who holds a secret can
// write it in a way that no search knows.
package scrub

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[secret]"

// The lengths in bytes from which on secrets are found: anywhere, as words, and anywhere
// where NewWhole was told of them.
const (
	MinLength = 8
	MinWord   = 4
	MinWhole  = 6
)

// Scrubber takes a set of secrets out of texts. It is immutable and safe for
// concurrent use; nil takes out nothing. Printing one shows no secret.
type Scrubber struct {
	mark  string
	forms func() []form // a closure, so that no printing reaches a secret
}

// New returns a Scrubber for secrets. Each line of a secret of several lines, such
// as a private key, counts as a secret too, where it has twice MinLength bytes.
func New(secrets ...string) *Scrubber {
	var list []form
	for _, s := range secrets {
		list = append(list, writeForms(s)...)
		lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(lines) > 1 && len(line) >= 2*MinLength {
				list = append(list, writeForms(line)...)
			}
		}
	}
	return newScrubber(Mark, list)
}

// NewWhole returns a Scrubber for values that may be no secrets at all, such as those of the
// environment: a path, an address. Each is found whole alone, as it is, from MinWhole bytes
// on; its half or one of its lines may be any other text. mark stands where a value was.
func NewWhole(mark string, values ...string) *Scrubber {
	var list []form
	for _, v := range values {
		list = append(list, writeWholeForms(v)...)
	}
	return newScrubber(mark, list)
}

func newScrubber(mark string, list []form) *Scrubber {
	// The longest first: one may be part of another.
	slices.SortFunc(list, func(a, b form) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text))
	})
	list = slices.Compact(list)
	if len(list) == 0 {
		return nil
	}
	return &Scrubber{mark, func() []form { return list }}
}

// With returns a Scrubber for more secrets besides those of s.
func (s *Scrubber) With(secrets ...string) *Scrubber { return s.Join(New(secrets...)) }

// Join returns a Scrubber for the secrets of s and of more. It marks them as s does.
func (s *Scrubber) Join(more *Scrubber) *Scrubber {
	switch {
	case s == nil:
		return more
	case more == nil:
		return s
	}
	list := slices.Concat(s.forms(), more.forms())
	return &Scrubber{s.mark, func() []form { return list }}
}

// Text returns text with the mark in place of every secret.
func (s *Scrubber) Text(text string) string { return s.scrubText(text, false) }

// Cut is Text for a text whose end was cut off: the beginning of a secret at its
// end goes too.
func (s *Scrubber) Cut(text string, cut bool) string { return s.scrubText(text, cut) }

func (s *Scrubber) scrubText(text string, cut bool) string {
	if s == nil || text == "" {
		return text
	}
	var spans []span
	for _, v := range readViews(text) {
		for _, f := range s.forms() {
			spans = f.findPlaces(v, spans)
			if cut {
				spans = f.findTornPlace(v, len(text), spans)
			}
		}
	}
	return replaceSpans(text, s.mark, spans)
}

// span is a part of a text: from the first byte up to the one before the end.
type span struct{ from, to int }

func replaceSpans(text, mark string, spans []span) string {
	if len(spans) == 0 {
		return text
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	var out strings.Builder
	at := 0
	for i := 0; i < len(spans); {
		s := spans[i]
		for i++; i < len(spans) && spans[i].from <= s.to; i++ { // those that touch are one
			s.to = max(s.to, spans[i].to)
		}
		out.WriteString(text[at:s.from])
		out.WriteString(mark)
		at = s.to
	}
	out.WriteString(text[at:])
	return out.String()
}

// Error returns err with a scrubbed text. errors.Is sees through it, errors.As
// doesn't: an inner error could be printed by itself.
func (s *Scrubber) Error(err error) error {
	if s == nil || err == nil {
		return err
	}
	return &scrubbed{s.Text(err.Error()), func(target error) bool { return errors.Is(err, target) }}
}

type scrubbed struct {
	words string
	is    func(error) bool
}

func (e *scrubbed) Error() string        { return e.words }
func (e *scrubbed) Is(target error) bool { return e.is(target) }
