package judge

import (
	"strings"
	"unicode"

	"slices"

	"github.com/vedette-dev/vedette/sentinel"
)

// text is a request, a mission or a result, read once.
type text struct {
	fold string // lower case, compatibility forms and accents folded
	// meant is fold without the addresses that are to be left out.
	meant string
	// The rest is filled in for requests and missions alone.
	words    map[string]bool // stems
	raw      map[string]bool // words as folded, not stemmed
	people   map[string]bool // those that are no part of an address
	proper   map[string]bool // those with a capital where no sentence begins
	says     verb            // what the words ask for
	concepts concept
	chosen   map[string]bool // stems of nouns that are to be chosen by a rule
	sums     sums
	limits   []limit
	dates    map[date]bool
	relative bool // a word of it counts days
	assigned []assignment
	ids      map[string]bool // shapes of the ids in it
	numbered map[string]bool // stems of nouns that a number of a few digits follows: "order 42"
	negated  forbiddenWords
	tongue
	// fields are the concepts that its words name; concepts has those of talking, too,
	// where it only asks to tell.
	fields    concept
	refers    bool // a word of it stands for what was spoken of before
	files     bool // it names one at least
	delegates bool // "do what the list says"
}

// tongue is the language of a text.
type tongue struct {
	// known: some of the words are ones that this package knows. Of a text
	// in another language nothing can be said.
	known bool
	// readable: it is in a language of which some words are known.
	readable bool
	foreign  *language // nil: it is in English, or in none that is known by its words
}

// foldText makes two spellings of one word alike: see sentinel.FoldText. For letters of
// other scripts that look alike there is latinSkeleton.
func foldText(s string) string { return sentinel.FoldText(s) }

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// readText takes a text apart. It looks at each word a bounded number of times.
func readText(s string) *text {
	t := &text{fold: foldText(s), words: map[string]bool{}, raw: map[string]bool{}, people: map[string]bool{}, proper: readProperNames(s)}
	for f := range strings.FieldsSeq(t.fold) {
		if !strings.Contains(f, "@") && !strings.Contains(f, "://") {
			for w := range strings.FieldsFuncSeq(f, func(r rune) bool { return !isWordRune(r) }) {
				t.people[w] = true
			}
			if isFileName(f) {
				t.addConcept(fields.file)
				t.files = true
			}
		}
	}
	t.meant = dropExcluded(t.fold)
	list := splitTokens(t.fold)
	function, english := 0, 0
	for _, w := range list {
		if functionWords[w.word] && !t.raw[w.word] {
			function++
		}
		if (functionWords[w.word] || everydayWords[w.word]) && !t.raw[w.word] {
			english++
		}
		t.refers = t.refers || pointing[w.word] || pointingNouns[w.word]
		t.words[w.stem], t.raw[w.word] = true, true
		if t.people[w.word] { // a part of an address is about nothing
			t.addConcept(concepts[w.stem])
		}
		t.relative = t.relative || dayWords[w.word]
	}
	t.readVerbs(list)
	t.known = function >= 2 || t.says != 0 && t.knowsEnough(list)
	t.readable = t.known || english > 0 && t.knowsEnough(list)
	if in := detectLanguage(list, english, t.people); in != nil {
		t.readInLanguage(in, list)
	} else if readUnspaced(t) {
		t.settleForeign()
	}
	t.chosen = readChosen(list)
	t.sums = readSums(t.fold, list)
	t.limits = readLimits(t.fold)
	t.dates = readDates(splitTokens(dropShares(t.fold)))
	t.assigned = readAssignments(t.fold)
	t.ids = readIDShapes(t.fold, t.sums.currency)
	t.numbered = readNumberedNouns(t.fold)
	t.negated = readForbidden(t.fold)
	if t.says&pays != 0 && t.sums.currency || t.namesAccount() {
		t.concepts |= concepts[stemWord("bank")]
	}
	return t
}

// splitTokens splits a folded text into its words.
func splitTokens(fold string) []token {
	var list []token
	start, stop := -1, true
	for i, r := range fold + " " {
		if isWordRune(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			w := fold[start:i]
			list = append(list, token{word: w, stem: stemWord(w), first: stop})
			start, stop = -1, false
		}
		stop = stop || strings.ContainsRune(".,:;!?()\n-\"'", r)
	}
	return list
}

// isFileName reports whether a word of prose is a path or the name of a file.
func isFileName(f string) bool {
	f = strings.Trim(f, ".,:;!?()'\"")
	if len(f) > 2 && (f[0] == '/' || strings.HasPrefix(f, "~/")) {
		return true
	}
	i := strings.LastIndexByte(f, '.')
	return i > 0 && fileEndings[f[i+1:]]
}

type token struct {
	word, stem string
	first      bool // begins a sentence or a part of one
}

// stemWord cuts the endings of plain English plurals and verb forms.
func stemWord(w string) string {
	n := len(w)
	switch {
	case n <= 3:
		return w
	case strings.HasSuffix(w, "ies") && n > 4:
		return w[:n-3] + "y"
	case strings.HasSuffix(w, "ing") && n > 5:
		return trimStem(w[:n-3])
	case strings.HasSuffix(w, "ed") && n > 4:
		return trimStem(w[:n-2])
	case strings.HasSuffix(w, "es") && n > 4:
		return trimStem(w[:n-2])
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us"):
		if strings.HasSuffix(w, "ings") {
			return stemWord(w[:n-1]) // "meetings" are of "meeting"
		}
		return trimStem(w[:n-1])
	}
	return trimStem(w)
}

// trimStem undoes a doubled consonant and drops a silent e.
func trimStem(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && strings.IndexByte("bdgmnprt", w[n-1]) >= 0 {
		return w[:n-1]
	}
	if n > 3 && w[n-1] == 'e' {
		return w[:n-1]
	}
	return w
}

// readInLanguage fills in what a text in another language asks for.
func (t *text) readInLanguage(in *language, list []token) {
	t.says, t.foreign = 0, in
	for _, sentence := range splitSentences(dropAddresses(t.fold)) {
		words := splitTokens(sentence)
		looking := isQuestion(sentence, words)
		for i, w := range words {
			says, about := in.meaningOf(w.word)
			if looking && !in.asksByQuestion(words, i) {
				says = looks
			}
			t.says |= says
			t.addConcept(about)
		}
	}
	if t.says&sends != 0 {
		t.concepts |= talkConcepts()
	}
	t.settleForeign()
	if t.says != 0 && t.says&anyChange == 0 && len(list) > 0 { // its first word asks
		first, _ := in.meaningOf(list[0].word)
		t.known = t.known || first&looks != 0
	}
}

// settleForeign says of a text in another language whether enough of it is known to say what
// it doesn't ask for: a field and an action, or that it only asks.
func (t *text) settleForeign() {
	t.readable = true
	t.known = t.says != 0 && (t.concepts != 0 || t.says&anyChange == 0 && strings.ContainsAny(t.fold, "?？؟"))
}

// addConcept adds fields that a word of the text names.
func (t *text) addConcept(c concept) {
	t.concepts |= c
	t.fields |= c
}

// namesNoField reports whether a text has no word for a field and says by a word such as
// "it" or "the later one" what it speaks of.
func (t *text) namesNoField() bool { return t.fields == 0 && t.refers }

// standsAsVerb reports whether a word stands where a verb that asks does, and in a form that asks.
func standsAsVerb(w token, prev, next string) bool {
	// A sentence that begins with "stick that" has "that" for its object.
	return (w.first || beforeVerb[prev] || strings.HasSuffix(prev, "ly")) && !isTellingForm(w.word) && next != "to" &&
		(!afterNoun[next] || w.first && next == "that")
}

func (t *text) readVerbs(list []token) {
	for i, w := range list {
		prev, next := "", ""
		if i > 0 {
			prev = list[i-1].word
		}
		if i+1 < len(list) {
			next = list[i+1].word
		}
		switch {
		case !t.people[w.word]: // a part of an address asks for nothing
		case w.word == "shared": // "her shared calendar" asks for nothing
		case i > 1 && asked[list[i-2].word] && persons[prev]: // "how much did I pay"
		case buying[w.word]:
			t.says |= saying[w.stem]
			t.addConcept(fields.order)
		case w.word == "remind" && (next == "me" || next == "us"):
			t.readReminder(list[i+2:])
		case toMe[w.word] && (next == "me" || next == "us"):
			t.says |= looks
		case nounToo[w.word]:
			if w.first || beforeVerb[prev] {
				t.says |= saying[w.stem]
			}
		case nounToo[strings.TrimSuffix(w.word, "s")]: // "my emails" asks for no email
		default:
			says := saying[w.stem]
			if !standsAsVerb(w, prev, next) {
				says &^= standingVerbs[w.stem]
			}
			t.says |= says
			if talking[w.stem] || saying[w.stem]&sends != 0 && t.hasAddressNear(list[i+1:]) {
				t.concepts |= talkConcepts()
			}
		}
		t.readPhrase(list[i:])
		t.delegates = t.delegates || delegating[w.word] && !isAuxiliary(list, i) && delegatesAt(list[i+1:])
	}
}

// verbsAsked is what the words of a text may ask for in any language that has a
// table here.
func (t *text) verbsAsked() verb {
	says := t.says
	if t.foreign == nil { // says has them otherwise
		says |= verbsInAnyLanguage(t.fold)
	}
	for part, v := range unspacedAsks {
		if strings.Contains(t.fold, part) {
			says |= v
		}
	}
	return says & anyChange
}

// mentionsAny reports whether a text has one of the words or folded parts. Parts are of scripts
// that put no blanks between words.
func (t *text) mentionsAny(words map[string]bool, parts []string) bool {
	for w := range t.raw {
		if words[w] {
			return true
		}
	}
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(t.fold, p) })
}

// knowsEnough reports whether enough of a text is in words that are known here. A
// word by chance says nothing of a text in another language.
func (t *text) knowsEnough(list []token) bool {
	known, all := 0, 0
	for _, w := range list {
		if w.word[0] < 'a' && w.word[0] < 0x80 || t.proper[w.word] || !t.people[w.word] {
			continue
		}
		all++
		if functionWords[w.word] || smallWords[w.word] || everydayWords[w.word] || saying[w.stem] != 0 || concepts[w.stem] != 0 {
			known++
		}
	}
	return known > 0 && known*10 >= all*3
}

// smallWords are English and of other languages too: they count only for how
// much of a text is understood.
var smallWords = wordSet("a an in on at me i we us our up out off by be do not no if so or as")

// namesAccount reports whether a text has the number of an account.
func (t *text) namesAccount() bool {
	for w := range strings.FieldsSeq(t.fold) {
		if isAccount(strings.Trim(w, ".,:;!?()'\"")) {
			return true
		}
	}
	return false
}

// hasDay takes another year for a slip.
func (t *text) hasDay(v string) bool {
	d, ok := parseISODate(v)
	for have := range t.dates {
		ok = ok && (have.month != d.month || have.day != d.day)
	}
	return !ok
}

func (t *text) hasDate(v string) bool {
	d, ok := parseISODate(v)
	return ok && (t.dates[d] || t.dates[date{0, d.month, d.day}])
}

// isAuxiliary reports whether a "do" only makes a question or a denial: "do I have", "what do
// they say".
func isAuxiliary(list []token, at int) bool {
	if list[at].word != "do" {
		return false
	}
	if hasWordNear(list[at+1:], 1, auxiliaryNext) || at > 0 && asking[list[at-1].word] {
		return true
	}
	return at > 0 && tellers[list[at-1].word] // "the things I do"
}

var (
	auxiliaryNext = wordSet("i we you they he she not my our your any there don")
	tellers       = wordSet("i we they he she")
	asking        = wordSet("what when where why how who which whom")
)

// delegatesAt reports whether what follows "do" or "follow" points at a list
// that somebody else may have written. "The following tasks" are in the
// request itself.
func delegatesAt(rest []token) bool {
	for _, w := range rest[:min(len(rest), 6)] {
		if w.word == "following" {
			return false
		}
		if delegated[w.stem] {
			return true
		}
	}
	return false
}

// pointsBack reports whether a text names neither what to do nor what to do it to, and has
// a word for what was spoken of before: "the same for the others".
func (t *text) pointsBack() bool {
	if !t.known || t.says != 0 || t.concepts != 0 || len(t.raw) > maxPointing {
		return false
	}
	for w := range t.raw {
		if pointing[w] {
			return true
		}
	}
	return false
}

// namesTarget reports whether a text has a word beside those for what a skill does and what
// it is about: an address, a number, a name, or a word that stands where one is named. A
// word that says how or when is none.
func (t *text) namesTarget(p *profile) bool {
	list := splitTokens(t.fold)
	for i, w := range list {
		switch {
		case !t.people[w.word], hasDigit(w.word): // a part of an address, or a number
			return true
		case !t.mayBeTarget(w.word, p):
		case t.proper[w.word], i > 0 && (beforeTarget[list[i-1].word] || verbsOf(list[i-1])&p.needs != 0):
			return true
		}
	}
	return false
}

func (t *text) mayBeTarget(w string, p *profile) bool {
	st := stemWord(w)
	switch {
	case len(w) < 3, functionWords[w], smallWords[w], beforeVerb[w], pointing[w], dayWords[w], manners[w], strings.HasSuffix(w, "ly"),
		saying[st] != 0, concepts[st] != 0, p.topic[st], isKnownAbroad(w):
		return false
	}
	return true
}

// beforeTarget are words behind which somebody or something is named, and manners those that
// say how or when.
var (
	beforeTarget = wordSet(`to for of the about with called named my our his her their an fur von uber den dem der die das mit namens a pour
		de le la les du aux sur avec para el los las del con al il lo gli di del alla con aan voor van het over met na os as ao do da`)
	manners = wordSet(`now again soon already once asap instead anyway please fast right away back course time moment hurry sure real everyone
		anybody anyone someone somebody schnell sofort gleich bald endlich wieder nochmal einfach vite bientot encore rapido ahora pronto luego
		agora logo depressa subito presto ancora snel meteen direct weer nu`)
)
