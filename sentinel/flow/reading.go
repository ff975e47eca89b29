package flow

import (
	"sync"

	"github.com/vedette-dev/vedette/internal/scrub"
	"github.com/vedette-dev/vedette/sentinel"
)

// reading is a result as it is compared: worked out once, and only as far as it is needed.
type reading struct {
	meant   func() string
	secrets func() *secrets
	whole   func() *body
}

// secrets are what is shaped like one in a result.
type secrets struct {
	*body
	short []string // those that are found as words alone
}

// minLong is the least length of a secret that is found within other text.
const minLong = 6

func newReading(raw string, meant func() string) *reading {
	r := &reading{meant: sync.OnceValue(meant)}
	r.secrets = sync.OnceValue(func() *secrets {
		s := findSecrets(raw[:min(len(raw), maxBody)])
		s.cut = s.cut || len(raw) > maxBody
		return s
	})
	r.whole = sync.OnceValue(func() *body { return newBody(sentinel.FoldText(r.meant())) })
	return r
}

func findSecrets(text string) *secrets {
	out := &secrets{body: &body{}}
	list := scrub.Find(text, maxSecrets)
	out.cut = len(list) == maxSecrets
	for _, f := range list {
		value := sentinel.FoldText(text[f.From:f.To])
		plain := appendPlain(nil, value)
		switch {
		case len(plain) >= minLong:
			out.addSecret(value)
		case len(plain) > 0:
			out.short = append(out.short, string(plain))
		}
	}
	return out
}

// hasNone reports whether nothing of a result that isn't private counts.
func (s *secrets) hasNone() bool { return len(s.tokens) == 0 && len(s.short) == 0 && !s.cut }
