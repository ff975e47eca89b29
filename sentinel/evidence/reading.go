package evidence

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/internal/scrub"
	"github.com/vedette-dev/vedette/sentinel/touch/host"
)

// Bounds of a reading.
const (
	maxText  = 1 << 20 // bytes of a result that are read
	maxLines = 1 << 14 // of a result; what is beyond is found, and quoted from nowhere
	maxLine  = 1 << 10 // bytes of a line
	maxNodes = 1 << 14 // scalars of a JSON result; a larger one is read as text
	maxField = 64      // characters of a field's path
	maxLong  = 200     // bytes from which a string of JSON is a text of its own
)

// Reading is a result in the form in which values are looked for in it: a text of lines, where
// each JSON object is one line. It is immutable, safe for concurrent use, and may be kept as
// long as its result.
type Reading struct {
	text, fold string
	lines      []line
	// unread says that the result is longer than maxText.
	unread bool

	once  sync.Once
	found tokens
}

// line is where a line begins, in the text and in its folded form.
type line struct {
	start, fold int32
	field       string // path of the object or string in JSON
	// whole: it is an object, and no sign inside of it separates records.
	whole bool
	// strange: its subject writes it, whatever the trust of the result.
	strange bool
	// guest: it is of somebody from outside.
	guest bool
}

// ReadResult reads a result: JSON, or text. strangers are the names of fields that their subject
// writes. It needs time in proportion to the result, and reads its first MB.
func ReadResult(result string, strangers ...string) *Reading {
	r := &Reading{unread: len(result) > maxText}
	if r.unread {
		result = strings.ToValidUTF8(result[:maxText], "")
	}
	w := &lineWriter{strangers: strangers}
	if !w.writeJSON(result) {
		w = &lineWriter{}
		w.addText(result, "", len(strangers) > 0) // no field can be told from another
	}
	r.text, r.fold, r.lines = w.text.String(), w.fold.String(), w.lines
	return r
}

// lineWriter gathers the lines of a reading.
type lineWriter struct {
	text, fold strings.Builder
	lines      []line
	strangers  []string
}

func (w *lineWriter) addLine(s string, l line) {
	if s == "" {
		return
	}
	if len(w.lines) < maxLines {
		l.start, l.fold = int32(w.text.Len()), int32(w.fold.Len()) //nolint:gosec // a reading is shorter than 8 MB
		w.lines = append(w.lines, l)
	}
	w.text.WriteString(s)
	w.fold.WriteString(host.UnicodeHost(foldText(s)))
}

func (w *lineWriter) endLine() {
	w.text.WriteByte('\n')
	w.fold.WriteByte('\n')
}

// addText adds the lines of a text, long ones in pieces. Pieces follow each other without a break,
// so that a value which spans two is found.
func (w *lineWriter) addText(s, field string, strange bool) {
	for part := range strings.SplitSeq(s, "\n") {
		for len(part) > maxLine {
			cut := strings.LastIndexByte(part[:maxLine], ' ')
			if cut <= 0 {
				cut = maxLine
				for cut > 1 && !utf8.RuneStart(part[cut]) {
					cut--
				}
			}
			w.addLine(part[:cut], line{field: field, strange: strange})
			part = part[cut:]
		}
		w.addLine(part, line{field: field, strange: strange})
		w.endLine()
	}
}

// lineAt returns the place of the line that holds an offset of the folded text; -1 where it is
// beyond the lines that are known.
func (r *Reading) lineAt(fold int) int {
	i, _ := slices.BinarySearchFunc(r.lines, fold+1, func(l line, at int) int { return int(l.fold) - at })
	i--
	if i < 0 || i == len(r.lines)-1 && len(r.lines) == maxLines && fold > int(r.lines[i].fold)+maxLine*utf8.UTFMax {
		return -1
	}
	return i
}

// textOf returns a line as it was written, and foldOf as it is searched.
func (r *Reading) textOf(i int) string {
	end := len(r.text)
	if i+1 < len(r.lines) {
		end = int(r.lines[i+1].start)
	}
	return trimLine(r.text[r.lines[i].start:end])
}

func (r *Reading) foldOf(i int) string {
	end := len(r.fold)
	if i+1 < len(r.lines) {
		end = int(r.lines[i+1].fold)
	}
	return trimLine(r.fold[r.lines[i].fold:end])
}

func trimLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if len(s) > maxLine*utf8.UTFMax { // the last of too many lines
		return ""
	}
	return s
}

// tokensOf returns the typed words of the text, worked out once.
func (r *Reading) tokensOf() *tokens {
	r.once.Do(func() { r.found = scanTokens(r.fold) })
	return &r.found
}

// record is a part of a line that is about one thing.
type record struct {
	text, fold string
	field      string
	strange    bool
	guest      bool
}

// recordAt returns the record around a value that is found at an offset of the folded text. A
// part that says nothing but the value is no record: the line is.
func (r *Reading) recordAt(fold int, value string) (record, bool) {
	i := r.lineAt(fold)
	if i < 0 {
		return record{}, false
	}
	l := r.lines[i]
	whole := record{r.textOf(i), r.foldOf(i), l.field, l.strange, l.guest}
	if l.whole {
		return whole, true
	}
	if part, ok := partAt(whole.text, fold-int(l.fold)); ok {
		f := host.UnicodeHost(foldText(part))
		if strings.Contains(f, value) && len(wordsOf(f)) > len(wordsOf(value)) {
			return record{part, f, l.field, l.strange, l.guest}, true
		}
	}
	return whole, true
}

// separators are where people separate records in a line.
var separators = [...]string{";", "|", " / ", "；"}

// partAt returns the part of a line, between separators, at an offset of the line's folded form.
func partAt(text string, fold int) (string, bool) {
	for at := 0; ; {
		end, size := len(text), 0
		for _, sep := range separators {
			if i := strings.Index(text, sep); i >= 0 && i < end {
				end, size = i, len(sep)
			}
		}
		next := at + len(host.UnicodeHost(foldText(text[:end])))
		if fold < next {
			return text[:end], true
		}
		if size == 0 {
			return "", false
		}
		at = next + len(foldText(text[end:end+size]))
		text = text[end+size:]
	}
}

// hidesSecret reports whether a named value is never written into a record.
func hidesSecret(name, value string) bool {
	return name != "" && hasSecretName(name) && scrub.Looks(name, value)
}

var secretNames = wordSet("password passwd passphrase pwd secret token apikey credential credentials pin cvv cvc otp cookie bearer")

func hasSecretName(name string) bool {
	words := splitName(name)
	return hasAny(words, secretNames) || slices.Contains(words, "key") && slices.Contains(words, "api")
}
