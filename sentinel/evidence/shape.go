package evidence

import (
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isEmail reports whether a folded word is the address of a mailbox.
func isEmail(s string) bool {
	i := strings.LastIndexByte(s, '@')
	return i > 0 && len(s) <= maxAddress && strings.IndexByte(s[i:], '.') > 1 && !strings.ContainsAny(s, " \t\n/")
}

// Bounds of shapes in bytes.
const (
	maxAddress = 254
	maxHost    = 253
	maxAccount = 34
	minAccount = 15 // of an account with a country
	minDigits  = 8  // of an account of digits alone, and of a phone's number
	maxPhone   = 15
	maxID      = 64
)

// dropGroups returns a value of ASCII letters and digits without what groups it; anything else
// gives "".
func dropGroups(s string) string {
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ' || c == '-' || c == '.' || c == '(' || c == ')' || c == '/' || c == '+':
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			out = append(out, c)
		default:
			return ""
		}
	}
	return string(out)
}

// isCountryAccount reports whether a word looks like an IBAN, right or wrong.
func isCountryAccount(w string) bool {
	if len(w) < minAccount || len(w) > maxAccount || w[0] < 'a' || w[0] > 'z' || w[1] < 'a' || w[1] > 'z' ||
		!isDigits(w[2:4]) {
		return false
	}
	digits := 0
	for i := 4; i < len(w); i++ {
		switch {
		case w[i] >= '0' && w[i] <= '9':
			digits++
		case w[i] < 'a' || w[i] > 'z':
			return false
		}
	}
	return digits >= 6
}

// accountLengths are the lengths of account numbers by country, where check digits mean
// something.
var accountLengths = map[string]int{
	"ad": 24, "ae": 23, "al": 28, "at": 20, "ba": 20, "be": 16, "bg": 22, "bh": 22, "br": 29, "ch": 21, "cy": 28, "cz": 24,
	"de": 22, "dk": 18, "ee": 20, "es": 24, "fi": 18, "fr": 27, "gb": 22, "ge": 22, "gi": 23, "gr": 27, "hr": 21, "hu": 28,
	"ie": 22, "il": 23, "is": 26, "it": 27, "kw": 30, "kz": 20, "lb": 28, "li": 21, "lt": 20, "lu": 20, "lv": 21, "mc": 27,
	"md": 24, "me": 22, "mk": 19, "mt": 31, "nl": 18, "no": 15, "pk": 24, "pl": 28, "pt": 25, "qa": 29, "ro": 24, "rs": 22,
	"sa": 24, "se": 24, "si": 19, "sk": 24, "sm": 27, "tn": 24, "tr": 26, "ua": 29,
}

// hasWrongDigits reports whether an account of a known country fails its own check digits, or
// has not as many characters as accounts of that country.
func hasWrongDigits(account string) bool {
	n := 0
	if isCountryAccount(account) {
		n = accountLengths[account[:2]]
	}
	switch {
	case n == 0:
		return false
	case len(account) != n:
		return true
	}
	var b strings.Builder
	for _, r := range account[4:] + account[:4] {
		if r >= 'a' {
			b.WriteString(strconv.Itoa(int(r-'a') + 10))
			continue
		}
		b.WriteRune(r)
	}
	v, ok := new(big.Int).SetString(b.String(), 10)
	return ok && v.Mod(v, big.NewInt(97)).Int64() != 1
}

// hasWrongRouting reports whether nine digits fail the check of a routing number.
func hasWrongRouting(digits string) bool {
	if len(digits) != 9 || !isDigits(digits) {
		return false
	}
	sum := 0
	for i, weight := range [...]int{3, 7, 1, 3, 7, 1, 3, 7, 1} {
		sum += int(digits[i]-'0') * weight
	}
	return sum%10 != 0
}

// isPhone reports whether a folded text is a phone's number with its country.
func isPhone(s string) bool {
	if !strings.HasPrefix(s, "+") && !strings.HasPrefix(s, "00") {
		return false
	}
	d := strings.TrimPrefix(dropGroups(s), "00")
	return isDigits(d) && len(d) >= minDigits && len(d) <= maxPhone
}

func isHandle(s string) bool {
	return len(s) > 2 && s[0] == '@' && len(s) <= maxID && !strings.ContainsAny(s[1:], " @/.:,")
}

// hostOf returns the host of a folded URL or page, without "www."; "" where it has none.
func hostOf(s string) string {
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	}
	s = strings.TrimLeft(s, "/")
	if i := strings.IndexAny(s, `/\?#`); i >= 0 {
		s = s[:i]
	}
	s = s[strings.LastIndexByte(s, '@')+1:]
	if h, port, ok := strings.Cut(s, ":"); ok && isDigits(port) {
		s = h
	}
	s = strings.TrimSuffix(strings.TrimPrefix(s, "www."), ".")
	if len(s) > maxHost || !strings.Contains(s, ".") {
		return ""
	}
	return s
}

// isDomain reports whether a folded word is the name of a host rather than of a file.
func isDomain(w string) bool {
	i := strings.LastIndexByte(w, '.')
	if i <= 0 || len(w) > maxHost || utf8.RuneCountInString(w[i+1:]) < 2 || fileEndings[w[i+1:]] {
		return false
	}
	letters := false
	for j, r := range w {
		switch {
		case unicode.IsLetter(r):
			letters = letters || j < i
		case j > i || r != '-' && r != '.' && !unicode.IsDigit(r):
			return false
		}
	}
	return letters && !strings.Contains(w, "..")
}

// fileEndings are those that a word is the name of a file by.
var fileEndings = wordSet(`txt md pdf doc docx odt rtf xls xlsx csv json yaml yml xml html htm png jpg jpeg gif svg zip tar gz log ppt pptx
	toml ini key odp ods eml ics mp3 mp4 mov wav sql go py js ts sh css heic webp parquet bak tmp`)

// isFile reports whether a folded word is the name of a file, with or without folders.
func isFile(w string) bool {
	i := strings.LastIndexByte(w, '.')
	return i > 0 && len(w) <= maxHost && fileEndings[w[i+1:]]
}

// isPathLike reports whether a folded value is a path: by its signs, or as the name of a file.
func isPathLike(s string) bool {
	if strings.ContainsAny(s, "\n\t") || strings.Contains(s, "://") {
		return false
	}
	for _, p := range [...]string{"/", "~/", "./", "../"} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return isFile(s) && !strings.Contains(s, "@") || strings.Count(s, "/") > 0 && !strings.Contains(s, " ")
}

// fileOf returns the last part of a path.
func fileOf(p string) string {
	p = strings.TrimRight(p, "/")
	return p[strings.LastIndexByte(p, '/')+1:]
}

// shapeOfID returns what ids of one kind have in common, "" for what is no id: letters before a
// number, as many digits, as many characters in as many groups, words joined by one sign.
func shapeOfID(w string) string {
	if len(w) < 3 || len(w) > maxID || strings.ContainsAny(w, "@/\\+%$€£, ") || isFile(w) {
		return ""
	}
	letters, digits, lead := 0, 0, true
	for _, r := range w {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case unicode.IsLetter(r):
			letters++
			lead = lead && digits == 0
		case r != '-' && r != '_' && r != '.' && r != ':':
			return ""
		}
	}
	switch {
	case letters == 0 && digits == len(w) && digits >= 5:
		return "number " + strconv.Itoa(digits)
	case letters == 0:
		return ""
	case digits == 0:
		return shapeOfSlug(w)
	case lead:
		return strings.TrimRight(w, "0123456789-_.:") + "9"
	case letters+digits >= 8:
		return strings.Map(maskAlnum, w)
	}
	return ""
}

func maskAlnum(r rune) rune {
	if isWordRune(r) {
		return 'x'
	}
	return r
}

func shapeOfSlug(w string) string {
	for _, sign := range [...]string{"-", "_"} {
		parts := strings.Split(w, sign)
		if len(parts) < 2 || strings.ContainsAny(strings.Join(parts, ""), "-_.:") {
			continue
		}
		for _, p := range parts {
			if len(p) < 2 {
				return ""
			}
		}
		return "words" + sign
	}
	return ""
}
