package sentinel

import (
	"slices"
	"strings"
)

// The marks of a result besides its flags. They are hints for people, rules
// and the judge, found by simple means: their absence proves nothing.
const (
	// MarkInstructions: the text speaks to a model rather than to a reader.
	MarkInstructions = "instructions"
	// MarkEncoded: the text holds a long run of base64, hex or percent
	// escapes.
	MarkEncoded = "encoded"
)

// Lengths, in characters, from which a run counts as encoded text. A digest in
// hex is 64 characters, a signature 128 in the longest common form.
const (
	minBase64 = 80
	minHex    = 130
	minEscape = 60
	minLine   = 60
)

// TextMarks returns the marks and flags of a text that came back from a skill,
// sorted. It is linear in the text and needs no memory but a few words.
//
// Instruction-like is a text in which, few words apart, one is told to ignore,
// disregard, forget or override instructions, prompts or rules; in which new
// or important instructions or a system prompt are announced; that says what
// the user must not be told; that tells an assistant, agent, model or AI what
// it must do; or that has the marks of a chat format: "<|", "[INST]", "<system",
// or a line that starts with "system:" or "assistant:".
func TextMarks(s string) []string {
	out := TextFlags(s)
	if hasInstructions(s) {
		out = append(out, MarkInstructions)
	}
	if hasEncodedRun(s) {
		out = append(out, MarkEncoded)
	}
	slices.Sort(out)
	return out
}

// wordKind is what a word may be part of. Several may hold at once.
type wordKind uint16

const (
	dropWord  wordKind = 1 << iota // ignore
	ruleWord                       // rules
	instrWord                      // instructions
	newWord                        // important
	sysWord                        // system
	promptWord
	notWord
	tellWord
	userWord
	modelWord
	mustWord
)

var wordKinds = map[string]wordKind{
	"ignore": dropWord, "disregard": dropWord, "forget": dropWord, "override": dropWord, "bypass": dropWord,
	"instructions": ruleWord | instrWord, "instruction": ruleWord | instrWord, "directives": ruleWord | instrWord,
	"rules": ruleWord, "guidelines": ruleWord, "prompts": ruleWord, "prompt": ruleWord | promptWord, "message": promptWord,
	"new": newWord, "updated": newWord, "important": newWord, "urgent": newWord, "additional": newWord, "hidden": newWord,
	"system": sysWord, "developer": sysWord,
	"not": notWord, "never": notWord, "don't": notWord, "don’t": notWord, "without": notWord,
	"tell": tellWord, "inform": tellWord, "mention": tellWord, "notify": tellWord, "reveal": tellWord,
	"telling": tellWord, "informing": tellWord,
	"user": userWord, "human": userWord, "owner": userWord,
	"assistant": modelWord, "assistants": modelWord, "ai": modelWord, "agent": modelWord, "llm": modelWord, "chatbot": modelWord,
	"must": mustWord, "should": mustWord, "shall": mustWord, "please": mustWord,
}

// sequences are kinds of words that follow each other with at most gap words
// between two of them.
var sequences = []struct {
	kinds []wordKind
	gap   int
}{
	{[]wordKind{dropWord, ruleWord}, 6},
	{[]wordKind{newWord, instrWord}, 1},
	{[]wordKind{sysWord, promptWord}, 0},
	{[]wordKind{notWord, tellWord, userWord}, 3},
	{[]wordKind{modelWord, mustWord}, 1},
}

const maxWord = 16 // no word of the table is longer

// hasInstructions reports whether the text speaks to a model.
func hasInstructions(s string) bool {
	if formatMarks(s) {
		return true
	}
	var seq [5]struct{ next, left int } // one for each of sequences
	for i := 0; i < len(s); {
		start := i
		for i < len(s) && isWordByte(s[i]) {
			if i++; strings.HasPrefix(s[i:], "’") {
				i += len("’")
			}
		}
		if i == start {
			i++
			continue
		}
		kind := wordKindOf(s[start:i])
		for j := range sequences {
			q, st := &sequences[j], &seq[j]
			switch {
			case kind&q.kinds[st.next] != 0:
				if st.next++; st.next == len(q.kinds) {
					return true
				}
				st.left = q.gap
			case kind&q.kinds[0] != 0:
				st.next, st.left = 1, q.gap
			case st.next > 0:
				if st.left--; st.left < 0 {
					st.next = 0
				}
			}
		}
	}
	return false
}

// wordKindOf looks a word up in lower case, without an allocation for each.
func wordKindOf(word string) wordKind {
	if len(word) > maxWord {
		return 0
	}
	var low [maxWord]byte
	for i := range len(word) {
		low[i] = word[i]
		if word[i] >= 'A' && word[i] <= 'Z' {
			low[i] += 'a' - 'A'
		}
	}
	return wordKinds[string(low[:len(word)])]
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '\''
}

// formatMarks reports whether the text has the marks of a chat format.
func formatMarks(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != '<' && c != '[' && c != ':' {
			continue
		}
		rest := s[i:]
		if strings.HasPrefix(rest, "<|") || hasPrefixFold(rest, "[inst]") || hasPrefixFold(rest, "<system") {
			return true
		}
		if s[i] == ':' && (isRoleLine(s[:i], "system") || isRoleLine(s[:i], "assistant")) {
			return true
		}
	}
	return false
}

// isRoleLine reports whether before ends with a line that is the word alone,
// marks of headings and blanks aside.
func isRoleLine(before, word string) bool {
	n := len(before) - len(word)
	if n < 0 || !strings.EqualFold(before[n:], word) {
		return false
	}
	for n--; n >= 0 && strings.IndexByte(" \t#*>", before[n]) >= 0; n-- {
	}
	return n < 0 || before[n] == '\n'
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// hasEncodedRun reports whether the text holds a long run of an encoding.
func hasEncodedRun(s string) bool {
	var run, upper, lower, digit, hex, esc int
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			digit++
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			upper++
		case c == '+' || c == '/' || c == '=' || c == '-' || c == '_':
		case c == '%' && i+2 < len(s) && isHexDigit(s[i+1]) && isHexDigit(s[i+2]):
			if esc += 3; esc >= minEscape {
				return true
			}
			i += 2
			run, upper, lower, digit, hex = 0, 0, 0, 0, 0
			continue
		case (c == '\n' || c == '\r') && run >= minLine:
			continue // encoders break lines
		default:
			run, upper, lower, digit, hex, esc = 0, 0, 0, 0, 0, 0
			continue
		}
		esc = 0
		if hex++; !isHexDigit(c) {
			hex = 0
		}
		run++
		// Long paths and slugs have few capitals; base64 has as many as not.
		if hex >= minHex || run >= minBase64 && digit >= run/20 && min(upper, lower) >= run/5 {
			return true
		}
	}
	return false
}

func isHexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
