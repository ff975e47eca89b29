package judge

import (
	"strings"
	"sync"
	"unicode"

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
	dates    map[date]bool
	relative bool // a word of it counts days
	assigned []assigned
	ids      map[string]bool // shapes of the ids in it
	numbered map[string]bool // stems of nouns that a number of a few digits follows: "order 42"
	// known: some of the words are ones that this package knows. Of a text
	// in another language nothing can be said.
	known     bool
	files     bool // it names one at least
	delegates bool // "do what the list says"
}

// fold makes two spellings of one word alike: see sentinel.FoldText. For letters of
// other scripts that look alike there is skeleton.
func fold(s string) string { return sentinel.FoldText(s) }

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// read takes a text apart. It looks at each word a bounded number of times.
func read(s string) *text {
	t := &text{fold: fold(s), words: map[string]bool{}, raw: map[string]bool{}, people: map[string]bool{}, proper: properIn(s)}
	for f := range strings.FieldsSeq(t.fold) {
		if !strings.Contains(f, "@") && !strings.Contains(f, "://") {
			for w := range strings.FieldsFuncSeq(f, func(r rune) bool { return !wordRune(r) }) {
				t.people[w] = true
			}
			if isFile(f) {
				t.concepts |= concepts[stem("file")]
				t.files = true
			}
		}
	}
	t.meant = meant(t.fold)
	list := tokensOf(t.fold)
	function := 0
	for _, w := range list {
		if functionWords[w.word] && !t.raw[w.word] {
			function++
		}
		t.words[w.stem], t.raw[w.word] = true, true
		if t.people[w.word] { // a part of an address is about nothing
			t.concepts |= concepts[w.stem]
		}
		t.relative = t.relative || dayWords[w.word]
	}
	t.speak(list)
	t.known = function >= 2 || t.says != 0 && t.covered(list)
	if in := tongueOf(list, function, t.people); in != nil {
		t.abroad(in, list)
	}
	t.chosen = chosenIn(list)
	t.sums = sumsIn(t.fold, list)
	t.dates = datesIn(list)
	t.assigned = assignedIn(t.fold)
	t.ids = idsIn(t.fold, t.sums.currency)
	t.numbered = numberedIn(t.fold)
	if t.says&pays != 0 && t.sums.currency || t.namesAccount() {
		t.concepts |= concepts[stem("bank")]
	}
	return t
}

// tokensOf splits a folded text into its words.
func tokensOf(fold string) []token {
	var list []token
	start, stop := -1, true
	for i, r := range fold + " " {
		if wordRune(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			w := fold[start:i]
			list = append(list, token{word: w, stem: stem(w), first: stop})
			start, stop = -1, false
		}
		stop = stop || strings.ContainsRune(".,:;!?()\n-\"'", r)
	}
	return list
}

// isFile reports whether a word of prose is a path or the name of a file.
func isFile(f string) bool {
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

func (t *text) speak(list []token) {
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
			t.concepts |= fields.order
		case w.word == "remind" && (next == "me" || next == "us"):
			t.reminder(list[i+2:])
		case toMe[w.word] && (next == "me" || next == "us"):
			t.says |= looks
		case nounToo[w.word]:
			if w.first || beforeVerb[prev] {
				t.says |= saying[w.stem]
			}
		case nounToo[strings.TrimSuffix(w.word, "s")]: // "my emails" asks for no email
		default:
			t.says |= saying[w.stem]
			if talking[w.stem] || saying[w.stem]&sends != 0 && t.addressed(list[i+1:]) {
				t.concepts |= talk()
			}
		}
		t.phrase(list[i:])
		t.delegates = t.delegates || delegating[w.word] && delegatesAt(list[i+1:])
	}
}

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

// stem cuts the endings of plain English plurals and verb forms.
func stem(w string) string {
	n := len(w)
	switch {
	case n <= 3:
		return w
	case strings.HasSuffix(w, "ies") && n > 4:
		return w[:n-3] + "y"
	case strings.HasSuffix(w, "ing") && n > 5:
		return bare(w[:n-3])
	case strings.HasSuffix(w, "ed") && n > 4:
		return bare(w[:n-2])
	case strings.HasSuffix(w, "es") && n > 4:
		return bare(w[:n-2])
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us"):
		if strings.HasSuffix(w, "ings") {
			return stem(w[:n-1]) // "meetings" are of "meeting"
		}
		return bare(w[:n-1])
	}
	return bare(w)
}

// bare undoes a doubled consonant and drops a silent e.
func bare(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && strings.IndexByte("bdgmnprt", w[n-1]) >= 0 {
		return w[:n-1]
	}
	if n > 3 && w[n-1] == 'e' {
		return w[:n-1]
	}
	return w
}

// cache keeps what was read of the texts that come with every call of a
// conversation. It is bounded, and forgets everything when it is full.
type cache[K comparable, V any] struct {
	mu sync.RWMutex
	m  map[K]V
}

const (
	maxCached     = 256
	maxCachedText = 16 << 10
)

func (c *cache[K, V]) get(k K, build func() V) V {
	c.mu.RLock()
	v, ok := c.m[k]
	c.mu.RUnlock()
	if ok {
		return v
	}
	v = build()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= maxCached {
		c.m = make(map[K]V)
	}
	c.m[k] = v
	return v
}
