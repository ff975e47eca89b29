package path

import "strings"

const maxGlued = 16

// FindGlued returns the absolute paths inside a value that is one word: in quotes or
// brackets, behind "file=", "@", ":" or "-f", before "?x=1". A receiver that
// takes such a word apart opens them. Prose has blanks and isn't looked at.
func FindGlued(text string) []string {
	text = strings.TrimSpace(text)
	if len(text) > MaxLength || strings.Contains(text, "://") || strings.ContainsAny(text, " \t\r\n") {
		return nil
	}
	var out []string
	for i := 0; i < len(text) && len(out) < maxGlued; i++ {
		if text[i] != '/' && !(text[i] == '~' && i+1 < len(text) && text[i+1] == '/') || i > 0 && !mayBeginAt(text, i) {
			continue
		}
		rest := text[i:]
		if j := strings.IndexAny(rest, "\"'`<>[]{}()|;,&?#="); j > 0 {
			rest = rest[:j]
		}
		if len(rest) > 1 && (i > 0 || len(rest) < len(text)) {
			out = append(out, rest)
		}
		i += len(rest) - 1
	}
	return out
}

// mayBeginAt reports whether a path may begin at i: behind a separator, an opening
// quote or bracket, or a short option's letter.
func mayBeginAt(text string, i int) bool {
	if strings.IndexByte("\"'`<>[{(=:@|;,&!", text[i-1]) >= 0 {
		return true
	}
	return i == 2 && text[0] == '-' && isLetter(text[1])
}

// IsProse reports whether a value is text for people: it has blanks and starts
// like no path.
func IsProse(text string) bool {
	text = strings.TrimSpace(text)
	if !strings.ContainsAny(text, " \t\r\n") {
		return false
	}
	if len(text) > 1 && text[1] == ':' && isLetter(text[0]) {
		return false
	}
	if text[0] == '%' {
		// What an escape hides decides; a NUL that vanishes hides most.
		if text = strings.Trim(DecodeText(text[:min(len(text), 256)]), " \t\r\n\x00"); text == "" {
			return false
		}
	}
	return strings.IndexByte(`/~.\$`, text[0]) < 0 && !hasPrefixFold(text, "file:")
}
