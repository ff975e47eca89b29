package detect

// automaton finds all of a fixed set of words in a text in one pass (Aho and Corasick, "Efficient
// string matching", 1975). A step is one look into a table.
type automaton struct {
	class   [256]uint8 // of a byte; 0 is every byte that no word has
	classes int
	next    []int32   // by state and class
	found   [][]int32 // the words that end in a state
}

// newAutomaton returns the automaton of words, which are numbered by their place. No word may be empty.
func newAutomaton(words []string) *automaton {
	a := &automaton{classes: 1}
	for _, w := range words {
		for i := range len(w) {
			if a.class[w[i]] == 0 {
				a.class[w[i]] = uint8(a.classes) //nolint:gosec // words have fewer than 256 different bytes
				a.classes++
			}
		}
	}
	a.addState()
	for n, w := range words {
		at := int32(0)
		for i := range len(w) {
			edge := &a.next[int(at)*a.classes+int(a.class[w[i]])]
			if *edge == 0 {
				*edge = a.addState()
				edge = &a.next[int(at)*a.classes+int(a.class[w[i]])] // the table may have moved
				*edge = int32(len(a.found) - 1)                      //nolint:gosec // states are few
			}
			at = *edge
		}
		a.found[at] = append(a.found[at], int32(n)) //nolint:gosec // words are few
	}
	a.linkFailures()
	return a
}

// addState adds a state without edges and returns its number.
func (a *automaton) addState() int32 {
	a.next = append(a.next, make([]int32, a.classes)...)
	a.found = append(a.found, nil)
	return int32(len(a.found) - 1) //nolint:gosec // states are few
}

// linkFailures gives every state the edges of the longest suffix that is a state.
func (a *automaton) linkFailures() {
	fail := make([]int32, len(a.found))
	var queue []int32
	for c := range a.classes {
		if s := a.next[c]; s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		a.found[s] = append(a.found[s], a.found[fail[s]]...)
		for c := range a.classes {
			edge := &a.next[int(s)*a.classes+c]
			onFailure := a.next[int(fail[s])*a.classes+c]
			if *edge == 0 {
				*edge = onFailure
				continue
			}
			fail[*edge] = onFailure
			queue = append(queue, *edge)
		}
	}
}

// scan calls visit for each word in text with the place behind it, until visit says false.
func (a *automaton) scan(text string, visit func(word, end int) bool) {
	at := int32(0)
	for i := range len(text) {
		at = a.next[int(at)*a.classes+int(a.class[text[i]])]
		for _, w := range a.found[at] {
			if !visit(int(w), i+1) {
				return
			}
		}
	}
}
