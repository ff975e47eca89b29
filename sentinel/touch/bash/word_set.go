package bash

import "strings"

// wordSet is a set of words that is asked for many that aren't in it. It is never changed
// once made.
type wordSet struct {
	words map[string]bool
	// lengths are, by the first byte of a word, the lengths that words have.
	lengths [256]uint32
}

// newWordSet makes a set of the words in a list.
func newWordSet(list string) *wordSet {
	s := &wordSet{words: map[string]bool{}}
	for w := range strings.FieldsSeq(list) {
		s.words[w] = true
		s.lengths[w[0]] |= 1 << min(len(w), maxLength)
	}
	return s
}

// maxLength is the length from which on words count as equally long.
const maxLength = 31

func (s *wordSet) has(w string) bool {
	return w != "" && s.lengths[w[0]]>>min(len(w), maxLength)&1 != 0 && s.words[w]
}
