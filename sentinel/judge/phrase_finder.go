package judge

import "strings"

// phraseFinder finds any of a list of texts in one pass over a text, however many
// there are: each is at least two bytes long and is looked for only where its
// first two stand.
type phraseFinder struct {
	list  []string
	pairs [1 << 16 / 64]uint64 // whether any phrase begins with the pair
	begin map[[2]byte][]int
}

func newPhraseFinder(list []string) *phraseFinder {
	p := &phraseFinder{list: list, begin: map[[2]byte][]int{}}
	for i, s := range list {
		pair := [2]byte{s[0], s[1]}
		n := uint(s[0])<<8 | uint(s[1])
		p.pairs[n/64] |= 1 << (n % 64)
		p.begin[pair] = append(p.begin[pair], i)
	}
	return p
}

// find calls fits for the first place of each phrase in the text, from the front. It ends
// where fits returns true. at is the byte behind the phrase. A phrase that a text repeats
// costs no more than one that it has once.
func (p *phraseFinder) find(text string, fits func(i, at int) bool) bool {
	if len(text) < 2 {
		return false
	}
	var seen []bool
	n := uint(text[0])
	for at := 1; at < len(text); at++ {
		n = n<<8&0xffff | uint(text[at])
		if p.pairs[n/64]&(1<<(n%64)) == 0 {
			continue
		}
		rest := text[at-1:]
		for _, i := range p.begin[[2]byte{rest[0], rest[1]}] {
			if seen != nil && seen[i] || !strings.HasPrefix(rest, p.list[i]) {
				continue
			}
			if fits(i, at-1+len(p.list[i])) {
				return true
			}
			if seen == nil {
				seen = make([]bool, len(p.list))
			}
			seen[i] = true
		}
	}
	return false
}
