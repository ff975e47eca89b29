package judge

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// maxAddresses bounds how many addresses of a call's contents are looked up.
const maxAddresses = 16

// addressInContent looks for a link, an address or an account in what would
// go out to others, that nobody who may be believed has written.
func addressInContent(v *view) finding {
	if v.s.Reaches() != skills.Others || v.request == nil || !v.p.changes {
		return finding{}
	}
	seen := 0
	return v.inContents(func(val value) bool {
		for w := range strings.FieldsSeq(val.fold) {
			w = strings.Trim(w, ".,:;!?()'\"<>[]")
			k := addressKind(w)
			if k == noTarget {
				continue
			}
			if seen++; seen > maxAddresses || !v.grounds(value{kind: k, fold: w}) {
				return true
			}
		}
		return false
	})
}

// addressKind tells what a word of prose is: an address of some kind, or
// noTarget.
func addressKind(w string) kind {
	switch {
	case len(w) < 6:
		return noTarget
	case isEmail(w):
		return recipient
	case strings.HasPrefix(w, "http://"), strings.HasPrefix(w, "https://"), strings.HasPrefix(w, "www."):
		return host
	case isAccount(w):
		return recipient
	}
	return noTarget
}

// isAccount reports whether a word looks like an IBAN: two letters, two
// digits and at least eleven more letters or digits.
func isAccount(w string) bool {
	if len(w) < 15 || len(w) > 34 || w[0] < 'a' || w[0] > 'z' || w[1] < 'a' || w[1] > 'z' {
		return false
	}
	digits := 0
	for i := 2; i < len(w); i++ {
		if !alnum(w[i]) || w[i] >= 0x80 || i < 4 && (w[i] < '0' || w[i] > '9') {
			return false
		}
		if w[i] <= '9' {
			digits++
		}
	}
	return digits >= 8
}

// secretInContent looks for what looks like a secret in what would go out.
func secretInContent(v *view) finding {
	if v.s.Reaches() != skills.Others || !v.p.changes {
		return finding{}
	}
	return v.inContents(func(val value) bool {
		if strings.Contains(val.raw, "-----BEGIN ") && strings.Contains(val.raw, "KEY-----") {
			return true
		}
		for w := range strings.FieldsSeq(val.raw) {
			if isToken(w) {
				return true
			}
		}
		return secretPhrases.find(val.fold, func(_, at int) bool {
			rest := val.fold[at:]
			return hasDigit(rest[:min(len(rest), 48)])
		})
	})
}

var (
	secretWords = []string{
		"password", "passport", "secret key", "api key", "access key", "private key", "security code", "verification code",
		"social security", "ssn", "account number", "account_number", "card number", "pin code", "one-time code", "2fa",
	}
	tokenHeads = []string{"AKIA", "ASIA", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "sk-", "sk_live_", "AIza", "eyJhbGciOi"}
)

func isToken(w string) bool {
	w = strings.Trim(w, ".,:;!?()'\"<>[]=")
	return len(w) >= 20 && slices.ContainsFunc(tokenHeads, func(h string) bool { return strings.HasPrefix(w, h) })
}

// instructionText looks for text that addresses a model, unless the user
// wrote it.
func instructionText(v *view) finding {
	return v.inContents(func(val value) bool {
		return instructionPhrases.find(val.fold, func(i, _ int) bool {
			return v.request == nil || !strings.Contains(v.request.fold, instructions[i])
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
	secretPhrases      = phrasesOf(secretWords)
	instructionPhrases = phrasesOf(instructions)
)

// minBlob is the shortest run of letters and digits that counts as encoded: a
// SHA-256 in hex is 64.
const minBlob = 72

// encodedBlob looks for a long run of base64 or hex.
func encodedBlob(v *view) finding {
	f := v.inContents(func(val value) bool { return hasBlob(val.raw) })
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

func (v *view) inContents(fits func(value) bool) finding {
	var f finding
	for _, val := range v.contents {
		if fits(val) {
			f.add(val.arg)
		}
	}
	return f
}

func (f *finding) add(arg string) {
	f.found = true
	if arg != "" && !slices.Contains(f.args, arg) {
		f.args = append(f.args, arg)
	}
}

// nearMiss looks for a recipient or host that is almost one of the request's.
func nearMiss(v *view) finding {
	var f finding
	for i, val := range v.values {
		if i >= maxValues && val.kind >= recipient || i < maxValues && v.nearMiss(val) {
			f.add(val.arg)
		}
	}
	return f
}
