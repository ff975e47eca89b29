package judge

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Of scripts that put no blanks between words: what stands after a name, and what before it.
// Where a name goes on in its own script otherwise, it may be another name.
var (
	afterName = foldAll("さん", "様", "さま", "君", "くん", "ちゃん", "氏", "先生", "部長", "課長", "に", "へ", "と", "の", "を", "が", "は", "も",
		"에게", "한테", "님", "씨", "과", "와", "께", "을", "를", "하고",
		"发", "發", "说", "說", "转", "轉", "打", "寄", "付", "汇", "匯", "回", "的", "和", "跟", "写", "寫")
	beforeName = foldAll("给", "給", "向", "跟", "和", "对", "對", "请", "請", "让", "讓", "叫", "与", "與", "同", "为", "為")
)

// foldAll returns texts in the spelling of folded ones.
func foldAll(list ...string) []string {
	for i, s := range list {
		list[i] = foldText(s)
	}
	return list
}

// minUnspaced is how many letters a name of such a script has at least.
const minUnspaced = 2

// holdsUnspacedName reports whether a folded text has a name that is written in a script
// without blanks, with a particle or another script beside it: "김민수에게".
func holdsUnspacedName(text, name string) bool {
	if utf8.RuneCountInString(name) < minUnspaced {
		return false
	}
	for _, r := range name {
		if scriptOf(r) == nil {
			return false
		}
	}
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		if endsBefore(text[:i], name) && beginsAfter(text[i+len(name):], name) {
			return true
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		from = i + n
	}
}

func endsBefore(s, name string) bool {
	before, _ := utf8.DecodeLastRuneInString(s)
	first, _ := utf8.DecodeRuneInString(name)
	if s == "" || !isWordRune(before) || scriptOf(before) != scriptOf(first) {
		return true
	}
	for _, p := range beforeName {
		if strings.HasSuffix(s, p) {
			return true
		}
	}
	return false
}

func beginsAfter(s, name string) bool {
	after, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(name)
	if s == "" || !isWordRune(after) || scriptOf(after) != scriptOf(last) {
		return true
	}
	for _, p := range afterName {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// scriptOf returns the script of a letter if that puts no blanks between words.
func scriptOf(r rune) *unicode.RangeTable {
	for _, t := range []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul} {
		if unicode.Is(t, r) {
			return t
		}
	}
	return nil
}
