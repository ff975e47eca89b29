package sentinel

import (
	"regexp"
	"strings"
)

// Bounds of what counts as a user's own words, in bytes.
const (
	// maxPasted is how long a later paragraph may be and still be typed.
	maxPasted = 600
	// maxTyped is how much of a text counts at all.
	maxTyped = 6 << 10
)

// forwardedMark is where what somebody else wrote begins: the head of a message, or a line
// that says that one follows. What comes after it can't be told from the message.
var forwardedMark = regexp.MustCompile(`(?im)^[\s*_"'“„«(]*(?:` +
	`(?:from|von|de|da|van|absender|remitente|mittente|expéditeur|afzender|от|发件人|差出人)\s*[:：]` +
	`|(?:fwd?|wg|tr|rv|enc|doorst|i)\s*:` +
	`|-{2,}.{0,20}(?:forwarded|original|weitergeleitet|ursprüngliche|transféré|reenviado|encaminhada|inoltrato|doorgestuurd)` +
	`|begin forwarded message|anfang der weitergeleiteten` +
	`|.{0,160}(?:wrote|schrieb|a écrit|escribió|escreveu|ha scritto|schreef)\s?:\s*$)` +
	`|(?-i:[\s"'“„«(]From:\s)`)

// fence opens and closes a block that was pasted.
var fence = regexp.MustCompile("^\\s*(?:```|~~~)")

// OwnWords returns what of a text its author typed, as far as the text shows it. Lines that
// are quoted with ">", fenced blocks, what follows the head of a message or the mark of a
// forwarded one, and long later paragraphs are left out. What is left out grounds nothing.
func OwnWords(text string) string {
	if len(text) > maxTyped {
		text = text[:maxTyped]
	}
	if !strings.ContainsAny(text, ":：>`~-\n") && !strings.Contains(text, "orward") {
		return text // it has no sign of what is left out
	}
	if at := forwardedMark.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	if !strings.Contains(text, "\n") && !strings.HasPrefix(strings.TrimSpace(text), ">") {
		return text
	}
	return strings.Join(dropPasted(dropQuoted(text)), "\n\n")
}

// dropQuoted returns the paragraphs of a text without quoted lines and fenced blocks.
func dropQuoted(text string) []string {
	var out []string
	var paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			out = append(out, strings.Join(paragraph, "\n"))
			paragraph = nil
		}
	}
	fenced := false
	for line := range strings.SplitSeq(text, "\n") {
		switch trimmed := strings.TrimSpace(line); {
		case fence.MatchString(line):
			fenced = !fenced
			end()
		case fenced:
		case strings.HasPrefix(trimmed, ">"), strings.HasPrefix(trimmed, "|>"):
			end()
		case trimmed == "":
			end()
		default:
			paragraph = append(paragraph, line)
		}
	}
	end()
	return out
}

// dropPasted leaves out the later paragraphs that are too long to have been typed.
func dropPasted(paragraphs []string) []string {
	out := paragraphs[:0]
	for i, p := range paragraphs {
		if i == 0 || len(p) <= maxPasted {
			out = append(out, p)
		}
	}
	return out
}
