package scrub

import (
	"strings"
	"unicode/utf8"
)

// label says what must be true of the value behind a word that names a secret.
type label uint8

const (
	anyLabel   label = 1 + iota // a password: any value
	digitLabel                  // a PIN, a token: a value with a digit, or a long one
	wordsLabel                  // a passphrase: all words up to the end of the line
)

// labels are the last words of what people call secrets.
var labels = map[string]label{
	"password": anyLabel, "passwort": anyLabel, "kennwort": anyLabel, "passwd": anyLabel, "passcode": anyLabel, "pwd": anyLabel,
	"contraseña": anyLabel, "contrasena": anyLabel, "senha": anyLabel, "wachtwoord": anyLabel, "пароль": anyLabel, "密码": anyLabel,
	"パスワード": anyLabel, "passe": anyLabel, "ordine": anyLabel, "passphrase": wordsLabel,
	"pin": digitLabel, "pincode": digitLabel, "geheimzahl": digitLabel, "token": digitLabel, "secret": digitLabel, "otp": digitLabel,
	"cvv": digitLabel, "cvc": digitLabel, "apikey": digitLabel, "toegangscode": digitLabel, "zugangscode": digitLabel, "psk": digitLabel,
	"key": digitLabel, "code": digitLabel, "phrase": wordsLabel,
}

// labelNeeds are the words of which one must stand before a word that names much else.
var labelNeeds = map[string]string{
	"passe": " de ", "ordine": " parola d ", "phrase": " seed recovery secret ",
	"key":  " api access private secret encryption license recovery ",
	"code": " pin security verification recovery backup access door alarm entry gate one-time time ",
}

// maxLabel is the length in bytes of the longest word that is looked up.
const maxLabel = 16

// findLabelled returns the values that a label names.
func findLabelled(text string, limit int) []Found {
	var out []Found
	before := "" // the word before
	for i := 0; i < len(text) && len(out) < limit; {
		if !isLabelByte(text[i]) {
			i++
			continue
		}
		end := endOfWord(text, i)
		if end-i <= maxLabel || text[i] >= utf8.RuneSelf {
			word := lastLabel(strings.ToLower(text[i:end]))
			if kind := labels[word]; kind != 0 && (labelNeeds[word] == "" || strings.Contains(labelNeeds[word], " "+before+" ")) {
				if f, ok := readValue(text, end, kind); ok {
					out, end = append(out, f), f.To
				}
			}
			before = word
		} else {
			before = ""
		}
		i = end
	}
	return out
}

// lastLabel cuts a word of a script without blanks to the label that it ends with.
func lastLabel(word string) string {
	for _, l := range []string{"密码", "パスワード"} {
		if strings.HasSuffix(word, l) {
			return l
		}
	}
	return word
}

func isLabelByte(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf }

// endOfWord ends a word at what is no letter, and at a capital within: "dbPassword".
func endOfWord(text string, i int) int {
	for i++; i < len(text) && isLabelByte(text[i]); i++ {
		if isCapital(text[i]) && !isCapital(text[i-1]) || strings.HasPrefix(text[i:], "：") || strings.HasPrefix(text[i:], "＝") {
			break
		}
	}
	return i
}

func isCapital(c byte) bool { return c >= 'A' && c <= 'Z' }

// maxSecret is the length in bytes of the longest value that a label names.
const maxSecret = 256

// isWords stand between a label and its value in a sentence.
var isWords = []string{"is ", "was ", "ist ", "lautet ", "est ", "es ", "é ", "è ", "are "}

// readValue reads the value behind a label that ends at end.
func readValue(text string, end int, kind label) (Found, bool) {
	at, signs := skipSigns(text, end)
	said := ""
	if !strings.ContainsAny(signs, ":=") && !strings.Contains(signs, "：") && !strings.Contains(signs, "＝") {
		for _, w := range isWords {
			if strings.HasPrefix(text[at:], w) {
				said = w
				at, _ = skipSigns(text, at+len(w))
				break
			}
		}
	}
	plain := said != "" || signs == " "
	to := endOfValue(text, at, kind == wordsLabel && !plain, strings.HasSuffix(signs, `"`))
	value := text[at:to]
	switch {
	case at == end, value == "", isPlaceholder(value):
		return Found{}, false
	case plain && !isOdd(value), plain && said == "" && len(value) < MinWhole && !(kind == digitLabel && isNumber(value)):
		return Found{}, false
	case kind == digitLabel && !strings.ContainsAny(value, "0123456789") && len(value) < 2*MinLength:
		return Found{}, false
	}
	return Found{From: at, To: to, Labelled: true}, true
}

// skipSigns skips the quotes, blanks and signs between a label and its value.
func skipSigns(text string, i int) (at int, signs string) {
	from := i
	for i < len(text) {
		switch c := text[i]; {
		case c == ':' || c == '=' || c == '"' || c == '\'' || c == '\\' || c == ' ' || c == '\t' || c == '*' || c == '`' || c == '>':
			i++
		case strings.HasPrefix(text[i:], "：") || strings.HasPrefix(text[i:], "＝"):
			i += len("：")
		default:
			return i, text[from:i]
		}
		if i-from > maxLabel {
			break
		}
	}
	return i, text[from:i]
}

// endOfValue ends a value at a blank, at the quote that it began with, or at the end of the line.
func endOfValue(text string, at int, line, quoted bool) int {
	to := at
	for to < len(text) && to-at < maxSecret {
		c := text[to]
		if c == '\n' || c == '\r' || c == '"' || c == '\\' || c == '<' || !line && !quoted && (isBlank(c) || c == ',' || c == ';' || c == '`') {
			break
		}
		to++
	}
	for to > at && strings.IndexByte(".,;:?!)'* ", text[to-1]) >= 0 {
		to--
	}
	return to
}

// isNumber reports whether a value is digits alone, MinWord of them or more.
func isNumber(value string) bool {
	return len(value) >= MinWord && strings.Trim(value, "0123456789") == ""
}

// isOdd reports whether a value looks like no word of a sentence: it has a digit, a sign or a
// capital among small letters.
func isOdd(value string) bool {
	for i := range len(value) {
		switch c := value[i]; {
		case isDigit(c), c < utf8.RuneSelf && !isLetterOrDigit(c) && c != '-' && c != '\'' && c != '.',
			i > 0 && isCapital(c) && !isCapital(value[i-1]):
			return true
		}
	}
	return false
}

// placeholders are no secrets, though they stand where one does.
var placeholders = map[string]bool{"null": true, "none": true, "true": true, "false": true, "string": true, "required": true,
	"changed": true, "hidden": true, "redacted": true, "unknown": true, "expired": true, "reset": true, "the": true,
	"your": true, "a": true, "see": true, "n/a": true, "optional": true, "example": true, "password": true,
	"token": true, "secret": true, "undefined": true, "{": true, "[": true, "-": true}

func isPlaceholder(value string) bool {
	return placeholders[strings.ToLower(value)] || strings.Trim(value, "*x•.…X-_ ") == "" || strings.HasPrefix(value, "${") ||
		strings.HasPrefix(value, "[") || strings.HasPrefix(value, "{")
}

// Readings returns a text as receivers may read it: as it is, without its line breaks, and
// with the escapes of JSON, URLs and HTML undone once and twice. Each stands there once.
func Readings(text string) []string {
	var out []string
	for _, v := range readViews(text) {
		out = append(out, v.text)
	}
	return out
}
