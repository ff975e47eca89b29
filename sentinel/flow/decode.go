package flow

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// minEncoded is the least length of what is tried as base64 or hex.
const minEncoded = 8

// decodeRuns returns what the long runs of a text come to if they are base64 or hex. A run
// may begin anywhere in a group: a text that was cut into pieces is read from each.
func decodeRuns(s string) []string {
	var out []string
	out = decodeGroups(s)
	for i := 0; i < len(s); {
		if !isEncoded(s[i]) {
			i++
			continue
		}
		end := i
		for end < len(s) && isEncoded(s[end]) {
			end++
		}
		if run := s[i:end]; len(run)+countPadding(s[end:]) >= minEncoded &&
			(len(run) >= longEncoded || strings.Trim(run[1:], "abcdefghijklmnopqrstuvwxyz") != "") {
			out = append(out, decodeRun(s[i:end])...)
		}
		i = end
	}
	return out
}

// countPadding is how many signs fill the last group of base64.
func countPadding(s string) int {
	n := 0
	for n < min(len(s), 2) && s[n] == '=' {
		n++
	}
	return n
}

func isEncoded(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '+' || c == '/' || c == '-' || c == '_'
}

// minGroups is how many groups of one length follow each other where a text is encoded in
// groups or on several lines.
const minGroups = 3

// decodeGroups decodes what is written in groups of one length, the last of which may be
// shorter.
func decodeGroups(s string) []string {
	out := decodeCodes(s)
	list := strings.FieldsFunc(s, func(r rune) bool { return r == '=' || isNotEncoded(r) })
	for i := 0; i < len(list); {
		j, size := i, len(list[i])
		for j < len(list) && len(list[j]) == size {
			j++
		}
		if j-i >= minGroups {
			last := j
			if j < len(list) && len(list[j]) < size {
				last++
			}
			out = append(out, decodeRun(strings.Join(list[i:last], ""))...)
			if last > j {
				out = append(out, decodeRun(strings.Join(list[i:j], ""))...)
			}
		}
		i = max(j, i+1)
	}
	return out
}

// longEncoded is the length from which on also small letters alone are tried: most shorter
// ones are words.
const longEncoded = 24

func isNotEncoded(r rune) bool { return r != '=' && (r >= utf8.RuneSelf || !isEncoded(byte(r))) }

func decodeRun(run string) []string {
	var out []string
	add := func(b []byte) {
		if bytes.IndexByte(b, 0) >= 0 { // each character has two bytes
			b = bytes.ReplaceAll(b, []byte{0}, nil)
		}
		if s := string(b); isReadable(s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for from := range 2 {
		part := run[from:]
		if b, err := hex.DecodeString(part[:len(part)/2*2]); err == nil {
			add(b)
		}
	}
	std := strings.NewReplacer("-", "+", "_", "/").Replace(run)
	for from := range 4 {
		part := std[from:]
		if len(part)%4 == 1 {
			part = part[:len(part)-1]
		}
		if b, err := base64.RawStdEncoding.DecodeString(part); err == nil {
			add(b)
		}
	}
	if small := strings.TrimRight(strings.ToUpper(run), "="); len(small) >= minBase32 {
		small = small[:len(small)-cutBase32[len(small)%8]]
		if b, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(small); err == nil {
			add(b)
		}
	}
	return out
}

// minBase32 is the least length of what is tried as base32: most shorter runs are words.
const minBase32 = 16

// cutBase32 is how many letters of a last group say nothing, by its length.
var cutBase32 = [8]int{0, 1, 0, 1, 0, 0, 1, 0}

// minCodes is how many codes follow each other where each stands for a character.
const minCodes = 4

// decodeCodes returns what the codes of characters come to that follow each other: two hex digits
// each with signs between them ("4b-65", "0x4b 0x65"), or decimal numbers.
func decodeCodes(s string) []string {
	var out []string
	runs := map[int][]byte{}
	end := func(base int) {
		if run := runs[base]; len(run) >= minCodes && isReadable(string(run)) {
			out = append(out, string(run))
		}
		runs[base] = runs[base][:0]
	}
	for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return isNotEncoded(r) || strings.ContainsRune("=+/-_", r) }) {
		for _, base := range codeBases {
			if code, ok := readCode(w, base); ok {
				runs[base] = append(runs[base], code)
			} else {
				end(base)
			}
		}
	}
	for _, base := range codeBases {
		end(base)
	}
	return out
}

var codeBases = [...]int{16, 10}

// readCode reads the code of one character: two hex digits, after 0x, x or nothing, or a decimal
// number from 32 on.
func readCode(w string, base int) (byte, bool) {
	if base == 16 {
		if w = strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(w), "0"), "x"); len(w) != 2 {
			return 0, false
		}
	} else if len(w) < 2 || len(w) > 3 {
		return 0, false
	}
	n, err := strconv.ParseUint(w, base, 8)
	return byte(n), err == nil && n >= ' '
}

// isReadable reports whether bytes are a text: few of them are no characters that people
// write.
func isReadable(s string) bool {
	odd, n := 0, 0
	for _, r := range s {
		n++
		if r == utf8.RuneError || !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' {
			odd++
		}
	}
	return n >= 4 && odd*8 <= n
}

func reverseText(s string) string {
	r := []rune(s)
	slices.Reverse(r)
	return string(r)
}

// rotate writes each letter thirteen places further.
func rotate(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s)
}

// minSpelled is how many words of an alphabet follow each other where one spells.
const minSpelled = 3

// unspell joins letters that stand by themselves, and words of an alphabet that stand for
// letters, into words. A number in such a word is one by itself too.
func unspell(fold string) (joined []string) {
	var run []string
	named := 0
	flush := func() {
		if len(run) > 1 && (named == 0 || len(run) >= minSpelled) {
			whole := strings.Join(run, "")
			joined = append(joined, whole)
			for digits := range strings.FieldsFuncSeq(whole, func(r rune) bool { return r < '0' || r > '9' }) {
				if len(digits) >= minSpelled && len(digits) < len(whole) {
					joined = append(joined, digits)
				}
			}
		}
		run, named = run[:0], 0
	}
	for w := range strings.FieldsFuncSeq(fold, func(r rune) bool { return !isPlain(r) }) {
		letter, known := spelled[w]
		switch {
		case utf8.RuneCountInString(w) == 1:
			run = append(run, w)
		case known:
			run, named = append(run, letter), named+1
		case caseWords[w]:
		default:
			flush()
		}
	}
	flush()
	return append(joined, dropFillers(fold)...)
}

// minFilled is how many letters stand by themselves at least between fillers.
const minFilled = 4

// dropFillers joins letters between which the same word or sign stands each time: "h and u and n
// and t", "hxuxnxt".
func dropFillers(fold string) (joined []string) {
	words := strings.FieldsFunc(fold, func(r rune) bool { return !isPlain(r) })
	for i := 0; i+2 < len(words); {
		end := i
		for isLetter(words[end]) && end+2 < len(words) && len(words[end+1]) > 1 && words[end+1] == words[i+1] && isLetter(words[end+2]) {
			end += 2
		}
		if (end-i)/2+1 >= minFilled {
			var b strings.Builder
			for j := i; j <= end; j += 2 {
				b.WriteString(words[j])
			}
			joined = append(joined, b.String())
		}
		i = max(end, i+1)
	}
	for _, w := range words {
		if len(w) >= 2*minFilled-1 && isFilled(w) {
			var b strings.Builder
			for j := 0; j < len(w); j += 2 {
				b.WriteByte(w[j])
			}
			joined = append(joined, b.String())
		}
	}
	return joined
}

func isLetter(w string) bool { return len(w) == 1 }

// isFilled reports whether every second letter of a word is the same. Only plain letters are
// read so.
func isFilled(w string) bool {
	for i := range len(w) {
		if w[i] >= utf8.RuneSelf || i%2 == 1 && w[i] != w[1] {
			return false
		}
	}
	return true
}

// caseWords are said between spelled letters.
var caseWords = wordSet("capital upper lower uppercase lowercase small big dash hyphen underscore dot number digit")
