package evidence

import (
	"strings"
	"unicode"
)

// tokens are the typed words of a text.
type tokens struct {
	addresses, hosts, accounts, ids, files []token
	numbers                                []number
	days                                   []day
	// known are the forms of addresses, hosts and accounts.
	known map[string]int32
}

// token is a word of some kind, in the form in which such are compared, and where it stands in
// the folded text.
type token struct {
	form string
	at   int32
}

// maxTokens bounds how many words of one kind are kept.
const maxTokens = 4096

func scanTokens(fold string) tokens {
	t := tokens{known: map[string]int32{}}
	eachWord(fold, func(w string, at int) {
		lead := len(w) - len(strings.TrimLeft(w, ".:!?*_#~-"))
		bare := strings.TrimRight(w[lead:], ".:!?*_#~")
		if len(bare) >= 3 {
			t.addWord(bare, at+lead)
		}
		t.addGrouped(fold, at+lead)
	})
	t.numbers, t.days = readNumbers(fold), readDays(fold)
	return t
}

// eachWord calls take for each word of a text with its place.
func eachWord(fold string, take func(w string, at int)) {
	start := -1
	for i, r := range fold {
		if isWordBreak(r) {
			if start >= 0 {
				take(fold[start:i], start)
			}
			start = -1
			continue
		}
		if start < 0 {
			start = i
		}
	}
	if start >= 0 {
		take(fold[start:], start)
	}
}

func isWordBreak(r rune) bool {
	switch r {
	case ' ', '\n', '\t', '\r', '<', '>', '(', ')', '[', ']', '{', '}', '"', '\'', '`', ',', ';', '|', '\\', '=', '&', '?',
		'“', '”', '‘', '’', '„', '«', '»':
		return true
	}
	return r >= 0x80 && unicode.IsSpace(r)
}

func (t *tokens) addWord(w string, at int) {
	bare := strings.TrimPrefix(w, "mailto:")
	switch {
	case isEmail(bare):
		t.keepToken(&t.addresses, bare, at)
		t.keepToken(&t.hosts, bare[strings.LastIndexByte(bare, '@')+1:], at)
		return
	case strings.Contains(w, "://"):
		if h := hostOf(w); h != "" {
			t.keepToken(&t.hosts, h, at)
		}
		return
	case isHandle(w):
		t.keepToken(&t.addresses, w, at)
		return
	}
	if h, _, _ := strings.Cut(w, "/"); isDomain(h) {
		t.keepToken(&t.hosts, strings.TrimPrefix(h, "www."), at)
	}
	if isPathLike(w) {
		t.keepToken(&t.files, w, at)
	}
	if c := dropGroups(w); isCountryAccount(c) || isDigits(c) && len(c) >= minDigits {
		t.keepToken(&t.accounts, c, at)
	}
	if shapeOfID(w) != "" {
		t.keepToken(&t.ids, w, at)
	}
}

// addGrouped takes an account or a phone's number that people write with blanks in it.
func (t *tokens) addGrouped(fold string, at int) {
	end := min(len(fold), at+maxAccount+12)
	s := fold[at:end]
	switch {
	case s == "":
	case s[0] == '+', s[0] == '0' && len(s) > 1 && s[1] == '0':
		n := 0
		for n < len(s) && (s[n] >= '0' && s[n] <= '9' || strings.IndexByte("+ -()./", s[n]) >= 0) {
			n++
		}
		if isPhone(s[:n]) {
			t.keepToken(&t.accounts, strings.TrimPrefix(dropGroups(s[:n]), "00"), at)
		}
	case len(s) > 4 && s[0] >= 'a' && s[0] <= 'z' && s[1] >= 'a' && s[1] <= 'z' && isDigits(s[2:4]) && (s[4] == ' ' || s[4] == '-'):
		if c := leadingGroups(s); isCountryAccount(c) {
			t.keepToken(&t.accounts, c, at)
		}
	}
}

// leadingGroups returns the account that a text begins with: groups of four, the last of one to
// four. It ends where the country's accounts do.
func leadingGroups(s string) string {
	if i := strings.IndexAny(s, "\n\t,;|()<>\"'"); i >= 0 {
		s = s[:i]
	}
	most := accountLengths[s[:2]]
	if most == 0 {
		most = maxAccount
	}
	var b strings.Builder
	for group := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ' ' || r == '-' }) {
		bare := strings.TrimRight(group, ".:!?")
		if bare == "" || len(bare) > 4 || dropGroups(bare) != bare || !hasDigit(bare) && b.Len() >= 8 || b.Len()+len(bare) > most {
			break
		}
		b.WriteString(bare)
		if bare != group || len(bare) < 4 {
			break
		}
	}
	return b.String()
}

func (t *tokens) keepToken(list *[]token, form string, at int) {
	if len(*list) >= maxTokens {
		return
	}
	*list = append(*list, token{form, int32(at)}) //nolint:gosec // a reading is shorter than 8 MB
	if _, ok := t.known[form]; !ok && (list == &t.addresses || list == &t.hosts || list == &t.accounts) {
		t.known[form] = int32(at) //nolint:gosec // the same
	}
}
