package judge

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/internal/scrub"
	"github.com/vedette-dev/vedette/skills"
)

// maxAddresses bounds how many addresses of a call's contents are looked up.
const maxAddresses = 16

// findAddressInContent looks for a link, an address or an account in what would go out
// to others. It finds those that no trusted source has written, and findMetAddress knows no better of.
func findAddressInContent(v *view) finding {
	return findForeignAddress(v, func(val value) bool { return v.isGrounded(val) || isMetAddress(v, val) })
}

// findMetAddress looks for an address that strangers' results have, where nothing else is to be said of what goes out.
func findMetAddress(v *view) finding {
	if findAddressInContent(v).found {
		return finding{}
	}
	return findForeignAddress(v, v.isGrounded)
}

// findForeignAddress looks for an address in what would go out to others that isn't known.
func findForeignAddress(v *view, isKnown func(value) bool) finding {
	if v.s.Reaches() != skills.Others || v.request == nil || !v.p.changes {
		return finding{}
	}
	seen := 0
	return v.findInContents(func(val value) bool {
		if isPattern(v, val) {
			return false
		}
		return !eachAddress(val.fold, func(k kind, w string) bool {
			if isWildcard(w) {
				return true
			}
			seen++
			return seen <= maxAddresses && isKnown(value{kind: k, fold: w, arg: val.arg})
		})
	})
}

// isMetAddress reports whether strangers' results have an address that stands in a text, and nothing speaks against it: no one is paid by
// it, and no text asks to pass it on. A page of this turn's strangers is theirs.
func isMetAddress(v *view, val value) bool {
	switch {
	case !v.isStrange(val), holdsAccount(val.fold), val.isRouted(), v.differs(), v.isOrdered(val), v.isPasted(val), v.isNear(val):
		return false
	case val.kind == host && (!v.isPast(val) || isSolicited(v, val)):
		return false
	}
	return !isAskedFor(v, val)
}

// isWildcard reports whether an address chooses all of a domain in the language of a database: "%@mill.example".
func isWildcard(at string) bool { return strings.HasPrefix(at, "%@") || strings.HasPrefix(at, "*@") }

// isPattern reports whether a value chooses all senders of one domain, and nothing else stands in it:
// "from:*@mill.example" under match. It is no address, unless what it chooses is removed or sent on.
func isPattern(v *view, val value) bool {
	domain, all := strings.CutPrefix(strings.TrimPrefix(val.fold, "from:"), "*@")
	return all && !strings.ContainsAny(domain, "*@ ,;:/") && isAny(lastWord(v.splitArgName(val.arg)), queryNames) &&
		!slices.ContainsFunc(v.contents, func(o value) bool { return isAny(splitName(o.fold), harshWords) })
}

// harshWords say that what a rule chooses is lost to its reader, or goes to somebody else.
var harshWords = wordSet("delete discard remove trash purge forward redirect block reject spam junk")

// findSecretInContent looks for what looks like a secret in what would go out. It
// costs more where the request has neither it nor a word for it.
func findSecretInContent(v *view) finding {
	if v.s.Reaches() != skills.Others || !v.p.changes {
		return finding{}
	}
	said := v.own != nil && secretPhrases.find(v.own.fold, func(int, int) bool { return true })
	f := v.findInContents(func(val value) bool {
		if strings.Contains(val.raw, "-----BEGIN ") && strings.Contains(val.raw, "KEY-----") {
			return true
		}
		for w := range strings.FieldsSeq(val.raw) {
			if scrub.IsToken(w) {
				return true
			}
		}
		return scrub.HasCard(val.fold) || secretPhrases.find(val.fold, func(_, at int) bool {
			rest := val.fold[at:]
			return hasDigit(rest[:min(len(rest), 48)])
		})
	})
	if f.found && v.request != nil && !said {
		f.extra = secretUnasked
	}
	return f
}

// secretUnasked is what a secret costs beyond the signal's own where the
// request speaks of none.
const secretUnasked = -15

var (
	secretWords = []string{
		"password", "passport", "secret key", "api key", "access key", "private key", "security code", "verification code",
		"social security", "ssn", "account number", "account_number", "card number", "pin code", "one-time code", "2fa",
		"passwort", "kennwort", "contrasena", "mot de passe", "senha", "wachtwoord", "parola d'ordine", "пароль", "密码", "パスワード",
	}
)

// findInstruction looks for text that addresses a model, unless the user
// wrote it.
func findInstruction(v *view) finding {
	return v.findInContents(func(val value) bool {
		return instructionPhrases.find(val.fold, func(i, _ int) bool {
			return v.own == nil || !strings.Contains(v.own.fold, instructions[i])
		})
	})
}

var instructions = []string{
	"ignore previous instruction", "ignore all previous", "ignore the previous", "ignore the above", "ignore your instruction",
	"disregard previous", "disregard all", "disregard the above", "forget your instruction", "forget all previous", "system prompt",
	"<system>", "</system>", "[system]", "<|im_start|>", "### instruction", "you are now", "new instructions:", "override your",
	"do not tell the user", "don't tell the user", "without telling the user", "without the user's knowledge",
}

var (
	secretPhrases      = newPhraseFinder(secretWords)
	instructionPhrases = newPhraseFinder(instructions)
)

// minBlob is the shortest run of letters and digits that counts as encoded: a
// SHA-256 in hex is 64.
const minBlob = 72

// findBlob looks for a long run of base64 or hex.
func findBlob(v *view) finding {
	f := v.findInContents(func(val value) bool { return hasBlob(val.raw) })
	for _, val := range v.values {
		if val.kind >= recipient && hasBlob(val.raw) {
			f.add(val.arg)
		}
	}
	return f
}

func hasBlob(s string) bool {
	run, kinds := 0, 0
	for i := range len(s) {
		k := 0
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
			k = 1
		case c >= 'A' && c <= 'Z':
			k = 2
		case c >= '0' && c <= '9':
			k = 4
		case c == '+' || c == '=':
			k = 8
		case c == '-' || c == '_' || c == '/':
			k = 16
		}
		if k == 0 {
			run, kinds = 0, 0
			continue
		}
		run++
		kinds |= k
		if run >= minBlob && kinds&4 != 0 && (kinds&3 == 3 || kinds&24 == 0) {
			return true
		}
	}
	return false
}
