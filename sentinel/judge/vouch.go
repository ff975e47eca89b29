package judge

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// publicMail are the domains at which anybody can have an address: one of
// them says nothing of whose the others are.
var publicMail = set(`gmail.com googlemail.com outlook.com hotmail.com live.com msn.com yahoo.com ymail.com aol.com icloud.com me.com
	proton.me protonmail.com gmx.com gmx.net gmx.de web.de mail.com mail.ru yandex.ru yandex.com zoho.com fastmail.com tutanota.com
	hey.com orange.fr free.fr laposte.net libero.it qq.com 163.com`)

// vouched reports whether somebody who may be believed wrote the domain of an
// address, or it is the user's own. The name of its owner alone says nothing:
// anybody can have an address that begins with it.
func (v *view) vouched(val value) bool {
	domain := val.fold[strings.LastIndexByte(val.fold, '@')+1:]
	if domain == "" || publicMail[domain] || val.exact != "" || val.routed() {
		return false
	}
	if _, own, ok := strings.Cut(fold(v.c.Grant().User()), "@"); ok && own == domain {
		return true
	}
	has := func(text string) bool { return wholeDomain(text, domain) }
	if v.request != nil && has(v.request.fold) || v.attested(domain, has) {
		return true
	}
	return v.mission != nil && has(v.mission.fold) && !slices.ContainsFunc(v.untrusted, has)
}

// wholeDomain finds a domain behind an address' "@" or by itself, and not as
// the end or the beginning of another.
func wholeDomain(text, domain string) bool {
	return whole(text, domain) || whole(text, "www."+domain) || afterAt(text, domain)
}

func afterAt(text, domain string) bool {
	for {
		i := strings.Index(text, "@"+domain)
		if i < 0 {
			return false
		}
		text = text[i+1+len(domain):]
		if !joinsAfter(text, domain) {
			return true
		}
	}
}

// ordered reports whether a result that speaks to a model has the value.
func (v *view) ordered(val value) bool {
	return slices.ContainsFunc(v.orders, func(r string) bool { return holds(r, val) })
}

// described reports whether the user said how to choose a value of this kind
// instead of quoting it: "each user", "the channel with the fewest members".
// Addresses and accounts beyond the house are never chosen so.
func (v *view) described(val value) bool {
	if v.request == nil || val.kind != recipient || strings.ContainsAny(val.fold, "@:/") ||
		hasDigit(compact(val.fold)) && len(val.fold) >= minAccount {
		return false
	}
	if _, number := number(val.fold); number {
		return false
	}
	for _, w := range nameWords(val.arg) {
		st := stem(w)
		people := groups[st]
		if people && v.p.needs&letsIn != 0 {
			return false
		}
		if v.request.chosen[st] || people && slices.ContainsFunc(personWords, func(g string) bool { return v.request.chosen[g] }) {
			return true
		}
	}
	return false
}

// letsIn are the changes that give somebody a right: whom they are for must
// have been said.
const letsIn = invites | shares | controls

// groups are the names of arguments that hold people, and personWords what a
// request calls those.
var (
	groups      = stems("user users username recipient recipients member members participant participants attendee attendees to")
	personWords = []string{stem("user"), stem("member"), stem("person"), stem("people"), stem("everyone"),
		stem("everybody"), stem("participant"), stem("colleague"), stem("attendee")}
	// each of them says that all of a kind are meant, or that one is to be
	// found by what follows.
	each    = set("each every all both")
	leastOf = set("most least fewest largest smallest biggest longest shortest newest oldest latest highest lowest busiest")
)

// chosenIn returns the stems of the nouns of which a text says how to choose:
// "each user", "all of the members", "a channel with the smallest number".
func chosenIn(list []token) map[string]bool {
	var out map[string]bool
	add := func(w token) {
		if out == nil {
			out = map[string]bool{}
		}
		out[w.stem] = true
	}
	for i, w := range list {
		rest := list[i+1:]
		switch {
		case w.word == "everyone" || w.word == "everybody":
			add(w)
		case each[w.word]:
			for j, n := range rest[:min(len(rest), 3)] {
				if j > 0 && n.first {
					break
				}
				add(n)
			}
		case leastOf[w.word]:
			before := list[max(0, i-4):i]
			with := slices.IndexFunc(before, func(n token) bool { return n.word == "with" || n.word == "has" || n.word == "have" })
			if with < 0 {
				before = rest[:min(len(rest), 2)]
			} else {
				before = before[:with] // "a channel with the most users" chooses no users
			}
			for _, n := range before {
				add(n)
			}
		}
	}
	return out
}

// properIn returns the words with a capital letter where no sentence begins:
// there they are names, also those that are words of the language ("Mark").
func properIn(s string) map[string]bool {
	var out map[string]bool
	begins := true
	for f := range strings.FieldsSeq(s) {
		word := strings.TrimFunc(f, func(r rune) bool { return !wordRune(r) })
		r, n := utf8.DecodeRuneInString(word)
		if !begins && unicode.IsUpper(r) && len(word) > n && strings.ToLower(word[n:]) == word[n:] {
			if out == nil {
				out = map[string]bool{}
			}
			w, _, _ := strings.Cut(strings.ReplaceAll(fold(word), "’", "'"), "'")
			out[w] = true
		}
		begins = strings.ContainsRune(".!?:\n", rune(f[len(f)-1]))
	}
	return out
}
