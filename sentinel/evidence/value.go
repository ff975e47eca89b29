package evidence

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel/touch/host"
	"github.com/vedette-dev/vedette/skills"
)

// value is an argument that names somebody or something.
type value struct {
	arg  Argument
	kind Kind
	// fold is the value as it is searched; form is what near ones are compared with it by.
	fold, form string
	number     number
	day        day
	// hidden values are never shown, and nothing is quoted beside them.
	hidden bool
	// named: only that a result has it verbatim makes it a name.
	named bool
}

// Bounds of values.
const (
	maxValues   = 64  // that are looked for; those beyond are left out
	maxArgument = 512 // bytes of a value that names something
	maxVerbatim = 64  // characters of a string that counts as a name where a result has it
	minVerbatim = 5
)

// collectValues returns the values that name something, those that say who is reached first. beyond
// are those that are too many.
func collectValues(in Input) (list, beyond []value) {
	for _, a := range slices.SortedStableFunc(slices.Values(in.Arguments), comparePointers) {
		list = appendValues(list, &a, in.Effect)
	}
	slices.SortStableFunc(list, func(a, b value) int { return rankOfKind(a) - rankOfKind(b) })
	if len(list) > maxValues {
		return list[:maxValues], list[maxValues:]
	}
	return list, nil
}

func comparePointers(a, b Argument) int { return strings.Compare(a.Pointer, b.Pointer) }

func rankOfKind(v value) int {
	switch {
	case v.kind.isReach():
		return 0
	case v.named:
		return 2
	}
	return 1
}

func appendValues(list []value, a *Argument, effect skills.Effect) []value {
	if a.Marks.Has(skills.Secret) && a.Marks&(skills.Target|skills.Path|skills.URL) == 0 {
		return list
	}
	v := value{arg: *a, kind: a.Kind, hidden: a.Marks.Has(skills.Secret) || a.Sensitive}
	switch x := a.Value.(type) {
	case json.Number:
		return appendNumber(list, v, x.String())
	case string:
		s := strings.TrimSpace(x)
		if s == "" || len(s) > maxArgument {
			return list
		}
		return appendText(list, v, s, effect)
	}
	return list
}

// appendNumber takes a number for an amount, a count, an account or an id.
func appendNumber(list []value, v value, text string) []value {
	words := splitName(v.arg.Name)
	v.fold, v.form = text, text
	if v.kind == Unknown {
		switch {
		case hasAny(words, amountNames):
			v.kind = Amount
		case hasAny(lastOf(words), countNames):
			v.kind = Count
		case len(text) >= minDigits && isDigits(text) && (hasAny(words, recipientNames) || v.arg.Marks.Has(skills.Target)):
			v.kind = Account
		case hasAny(lastOf(words), idNames):
			v.kind = Reference
		default:
			return list
		}
	}
	if v.kind == Amount || v.kind == Count {
		n, ok := readNumber(text)
		if !ok || n.value == 0 {
			return list
		}
		v.number = inMajorUnits(n, words)
	}
	return append(list, v)
}

// inMajorUnits turns cents into what people speak of.
func inMajorUnits(n number, words []string) number {
	if hasAny(words, minorNames) {
		n.value /= 100
	}
	return n
}

// appendText takes a string, each address of a list of them by itself.
func appendText(list []value, v value, s string, effect skills.Effect) []value {
	v.fold = host.UnicodeHost(foldText(s))
	if boxes := readMailboxes(v.fold); len(boxes) > 0 && v.kind != Path && !v.arg.Marks.Has(skills.Content) &&
		!hasAny(lastOf(splitName(v.arg.Name)), queryNames) {
		for _, m := range boxes {
			box := v
			box.kind, box.fold, box.form = Recipient, m, m
			list = append(list, box)
		}
		return list
	}
	if v.kind == Unknown {
		v.kind = classifyText(&v.arg, v.fold, effect)
	}
	if v.kind == Unknown {
		if v.named = isNameLike(&v.arg, s); !v.named {
			return list
		}
	}
	return append(list, v.withForm())
}

// withForm works out what near values are compared by.
func (v value) withForm() value {
	v.form = v.fold
	switch v.kind {
	case Host:
		if v.form = hostOf(v.fold); v.form == "" {
			v.form = v.fold
		}
	case Account, Recipient:
		if c := strings.TrimPrefix(dropGroups(v.fold), "00"); isCountryAccount(c) || isDigits(c) && len(c) >= minDigits {
			v.kind, v.form = accountUnlessPhone(v), c
		}
	case Path:
		v.form = strings.TrimPrefix(v.fold, "./")
	case Amount, Count:
		n, _ := readNumber(v.fold)
		v.number = inMajorUnits(n, splitName(v.arg.Name))
	case Date:
		v.day, _ = readDay(v.fold)
	}
	return v
}

func accountUnlessPhone(v value) Kind {
	if isPhone(v.fold) {
		return Recipient
	}
	return Account
}

// readMailboxes returns the addresses of a folded text that is nothing but addresses and names.
func readMailboxes(fold string) (found []string) {
	if !strings.Contains(fold, "@") || strings.Contains(fold, "://") {
		return nil
	}
	for p := range strings.FieldsFuncSeq(fold, func(r rune) bool { return strings.ContainsRune(" \t\r\n,;<>()\"?&=", r) }) {
		p = strings.TrimPrefix(p, "mailto:")
		switch {
		case isEmail(p):
			found = append(found, p)
		case strings.Contains(p, "@"):
			return nil
		}
	}
	if len(found) > 0 && strings.Count(fold, " ") > maxNameWords*len(found) {
		return nil // prose
	}
	return found
}

// maxNameWords is how many words a value may have and still name something.
const maxNameWords = 4

var (
	recipientNames = wordSet(`to cc bcc recipient recipients email emails payee beneficiary iban user users username member members
		participant participants attendee attendees guest guests invitee invitees channel channels receiver assignee owner wallet friend
		friends phone person people whom who grantee collaborator collaborators viewer viewers editor editors handle dest destination with`)
	accountNames = wordSet("iban account routing sort card wallet bic swift")
	idNames      = wordSet("id ids key number ref reference sku code uuid")
	refNames     = wordSet("ref reference")
	pathNames    = wordSet("path paths file files filename filenames folder directory attachment attachments document documents")
	hostNames    = wordSet("webhook callback endpoint url uri link host hostname server domain website site")
	queryNames   = wordSet("query q search filter keyword keywords term terms")
)

// classifyText tells what a folded string stands for: by its marks, its shape, and its name.
func classifyText(a *Argument, s string, effect skills.Effect) Kind {
	if a.Marks&(skills.Content|skills.Shell) != 0 {
		return Unknown
	}
	all, last := readName(a.Name)
	prose := len(s) > 96 || strings.Count(s, " ") >= maxNameWords
	switch {
	case last&queryName != 0:
		return Unknown
	case a.Marks.Has(skills.URL) || strings.Contains(s, "://") && !strings.ContainsAny(s, " \n"):
		return Host
	case a.Marks.Has(skills.Path):
		return Path
	case isEmail(s):
		return Recipient
	case isDay(s):
		return Date
	case hasDigit(s) && (isCountryAccount(dropGroups(s)) || all&accountName != 0 && !prose):
		return Account
	case isPhone(s), isHandle(s):
		return Recipient
	case prose:
		return Unknown
	case last&pathName != 0, isPathLike(s):
		return Path
	case last&hostName != 0 && strings.Contains(s, "."):
		return Host
	case all&amountName != 0:
		if _, ok := readNumber(s); ok {
			return Amount
		}
	case last&idName != 0 && (shapeOfID(s) != "" || last&refName == 0):
		return Reference
	case last&recipientName != 0 && effect != skills.Read:
		return classifyReceiver(s)
	}
	if a.Marks.Has(skills.Target) || shapeOfID(s) != "" {
		return Reference
	}
	return Unknown
}

// classifyReceiver tells what an argument with a receiver's name holds: a folder or a time is none.
func classifyReceiver(s string) Kind {
	switch {
	case strings.Contains(s, "/") && !strings.Contains(s, "@"):
		return Path
	case strings.Trim(strings.TrimRight(s, "apm. "), "0123456789:.") == "" && strings.ContainsAny(s, ":m"):
		return Unknown
	}
	return Recipient
}

// isNameLike reports whether a string would be a name if a result had it verbatim: it is short, and
// no plain word.
func isNameLike(a *Argument, s string) bool {
	if a.Marks&(skills.Content|skills.Shell) != 0 {
		return false
	}
	n := utf8.RuneCountInString(s)
	if n < minVerbatim || n > maxVerbatim || strings.Contains(s, "\n") {
		return false
	}
	if _, last := readName(a.Name); last&queryName != 0 {
		return false
	}
	return hasDigit(s) || strings.ToLower(s) != s
}
