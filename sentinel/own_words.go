package sentinel

import (
	"strings"
)

// Bounds of what counts as a user's own words, in bytes.
const (
	// maxPasted is how long a later paragraph may be and still be typed.
	maxPasted = 600
	// maxTypedFirst is the same of the first paragraph, where others ask something beneath it.
	maxTypedFirst = 900
	// maxTyped is how much of a text counts at all.
	maxTyped = 6 << 10
	// minWrapped is how long a quoted line is at least that a mail program broke in two.
	minWrapped = 50
)

// OwnWords returns what of a text its author typed, as far as the text shows it. Lines that
// are quoted with ">", fenced blocks, what follows the head of a message, the mark of a
// forwarded one or a line of a chat, and long paragraphs beside others are left out. What is
// left out speaks for no user.
func OwnWords(text string) string {
	if len(text) > maxTyped {
		text = text[:maxTyped]
	}
	if !strings.ContainsAny(text, ":：>＞`~-\n\r\u0085\u2028\u2029<") && !strings.Contains(text, "orward") {
		return text // it has no sign of what is left out
	}
	text = dropFenced(lineEnds.Replace(text))
	lines := strings.Split(text, "\n")
	plain := make([]string, len(lines))
	for i, line := range lines {
		plain[i] = foldLine(line)
	}
	at := findForwarded(plain)
	lines, plain = lines[:at], plain[:at]
	if n := len(lines); n > 0 {
		if from := headInLine.FindStringIndex(lines[n-1]); from != nil {
			lines[n-1] = lines[n-1][:from[0]]
		}
	}
	if len(lines) == 1 && !strings.HasPrefix(strings.TrimSpace(plain[0]), ">") {
		return lines[0]
	}
	return strings.Join(dropPasted(dropQuoted(lines, plain)), "\n\n")
}

// lineEnds are all that end a line where it is shown.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// dropFenced leaves out all between the first fence and the last one. A text that was pasted
// into a block may hold fences of its own, so none between says anything.
func dropFenced(text string) string {
	found := fences.FindAllStringIndex(text, -1)
	switch n := len(found); n {
	case 0:
		return text
	case 1:
		return text[:found[0][0]] // it never ends
	default:
		return text[:found[0][0]] + "\n\n" + text[found[n-1][1]:]
	}
}

// dropQuoted returns the paragraphs of a text without quoted lines. plain are its lines,
// folded. A quoted line that a mail program broke goes on in the next one.
func dropQuoted(lines, plain []string) []string {
	var out []string
	var paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			out = append(out, strings.Join(paragraph, "\n"))
			paragraph = nil
		}
	}
	wrapped := false
	for i, line := range lines {
		trimmed, broken := strings.TrimSpace(plain[i]), wrapped
		wrapped = false
		switch {
		case strings.HasPrefix(trimmed, ">"), strings.HasPrefix(trimmed, "|>"):
			wrapped = len(trimmed) >= minWrapped
			end()
		case trimmed == "":
			end()
		case broken:
		default:
			paragraph = append(paragraph, line)
		}
	}
	end()
	return out
}

// dropPasted leaves out the paragraphs that are too long to have been typed. The first may be
// longer, and as long as it likes where nothing is asked beside it.
func dropPasted(paragraphs []string) []string {
	out := paragraphs[:0]
	for i, p := range paragraphs {
		alone := i == 0 && (len(p) <= maxTypedFirst || !asksBeside(paragraphs[1:]))
		if alone || len(p) <= maxPasted {
			out = append(out, p)
		}
	}
	return out
}

// asksBeside reports whether paragraphs say more than thanks.
func asksBeside(paragraphs []string) bool {
	for _, p := range paragraphs {
		if len(p) <= maxPasted && !IsAssent(p) {
			return true
		}
	}
	return false
}
