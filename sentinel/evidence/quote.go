package evidence

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"unicode"

	"github.com/vedette-dev/vedette/internal/runes"
)

// Quote is text of a result, of the user's words or of an argument's name. It can't be printed, logged or marshalled:
// Report.Question and Report.JournalJSON are the only ways out. Its zero value is no quote.
type Quote struct {
	// A pointer, so that packages which print unexported fields print no text.
	text *string
}

// ErrQuote is returned where a Quote would be marshalled.
var ErrQuote = errors.New("evidence: a quote is written by Report.Question and Report.JournalJSON alone")

const hiddenQuote = "(quote)"

// IsZero reports whether there is no quote.
func (q Quote) IsZero() bool { return q.text == nil }

// String hides the text.
func (q Quote) String() string { return hiddenQuote }

// GoString hides the text.
func (q Quote) GoString() string { return hiddenQuote }

// Format hides the text under every verb.
func (q Quote) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, hiddenQuote) }

// LogValue hides the text.
func (q Quote) LogValue() slog.Value { return slog.StringValue(hiddenQuote) }

// MarshalJSON returns ErrQuote.
func (q Quote) MarshalJSON() ([]byte, error) { return nil, ErrQuote }

// MarshalText returns ErrQuote.
func (q Quote) MarshalText() ([]byte, error) { return nil, ErrQuote }

// hideText makes a quote of a whole text.
func hideText(s string) Quote { return Quote{&s} }

func (q Quote) plainText() string {
	if q.text == nil {
		return ""
	}
	return *q.text
}

// Bounds of quotes in characters.
const (
	maxQuote = 160 // of a record
	maxShown = 64  // of a value
	cutMark  = "…"
)

// quoteText makes a quote of at most limit characters. Blanks are joined, and characters that no
// screen shows are replaced, so that a reviewer reads what is there.
func quoteText(s string, limit int) Quote {
	var b strings.Builder
	n, blank := 0, false
	for _, r := range strings.TrimSpace(s) {
		if unicode.IsSpace(r) {
			blank = true
			continue
		}
		if runes.IsInvisible(r) || r == unicode.ReplacementChar {
			r = unicode.ReplacementChar
		}
		if n >= limit || blank && n+1 >= limit {
			b.WriteString(cutMark)
			break
		}
		if blank {
			b.WriteByte(' ')
			n, blank = n+1, false
		}
		b.WriteRune(r)
		n++
	}
	if b.Len() == 0 {
		return Quote{}
	}
	text := b.String()
	return Quote{&text}
}
