package detect

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel/intent/fold"
)

// The ids of what is found in the characters of a text and in no word of it.
const (
	// HiddenText: characters that people don't see and models read.
	HiddenText = "injection.hidden_text"
	// Reversed: marks that turn the direction of text round.
	Reversed = "injection.reversed"
	// MixedScript: a word with letters of several scripts that look alike.
	MixedScript = "injection.mixed_script"
	// Unread: the text holds more than was looked at: encodings within encodings, or words of rules without end.
	Unread = "injection.unread"
)

// The scores of these, in hundredths.
const (
	scoreHiddenText  = 85
	scoreZeroWidth   = 50
	scoreReversed    = 60
	scoreMixedScript = 50
	scoreUnread      = 70
)

// From how many characters on they are no accident.
const (
	manyTags      = 4
	manyZeroWidth = 6
)

// findDisguise looks at the characters of a text.
func findDisguise(text string) (hits []Hit) {
	if strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return nil
	}
	tags, zero, turns := 0, 0, 0
	last := rune(0)
	for _, r := range text {
		switch {
		case r >= 0xE0020 && r <= 0xE007F && last != blackFlag: // the flags of England, Scotland and Wales are made of tags
			tags++
			continue
		case r >= 0xE0100 && r <= 0xE01EF, r == 0x200B, r == 0x2060, r == 0xFEFF, r == 0x180E, r >= 0x2061 && r <= 0x2064:
			zero++
		case r == 0x202D || r == 0x202E:
			turns++
		}
		if r < 0xE0020 || r > 0xE007F {
			last = r
		}
	}
	if tags >= manyTags {
		hits = append(hits, Hit{ID: HiddenText, Family: Injection, Score: scoreHiddenText})
	} else if zero >= manyZeroWidth {
		hits = append(hits, Hit{ID: HiddenText, Family: Injection, Score: scoreZeroWidth})
	}
	if turns > 0 {
		hits = append(hits, Hit{ID: Reversed, Family: Injection, Score: scoreReversed})
	}
	if word := findMixedWord(text); word != "" {
		hits = append(hits, Hit{ID: MixedScript, Family: Injection, Score: scoreMixedScript, Evidence: word})
	}
	return hits
}

// blackFlag is the character that tags may follow.
const blackFlag = 0x1F3F4

// findMixedWord returns the first word with letters of several scripts that look alike.
func findMixedWord(text string) string {
	for word := range strings.FieldsFuncSeq(text, isNoLetter) {
		if isMixable(word) && len(fold.Scripts(word)) > 0 {
			return word
		}
	}
	return ""
}

// isNoLetter reports whether a character is part of no word.
func isNoLetter(r rune) bool {
	if r < utf8.RuneSelf || r >= 0x400 && r <= 0x481 {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x400)
	}
	return !unicode.IsLetter(r) && !unicode.IsMark(r)
}

// isMixable reports whether a word has letters of two lengths in UTF-8, without which it is of one script.
func isMixable(word string) bool {
	wide := 0
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			wide++
		}
	}
	return wide > 0 && (wide < len(word) || holdsSeveralBlocks(word))
}

// holdsSeveralBlocks reports whether the letters of a word begin with different bytes.
func holdsSeveralBlocks(word string) bool {
	first := byte(0)
	for i := range len(word) {
		if utf8.RuneStart(word[i]) {
			if first != 0 && word[i] != first && (word[i]|1) != (first|1) {
				return true
			}
			first = word[i]
		}
	}
	return false
}
