package bash

// textRoom gives out room for the words of commands, in pieces for several commands. All
// shells of a line share one; no two commands share room.
type textRoom struct {
	free []string
	size int // of the piece that free is left of
}

// maxTexts is how many words a piece has room for, where no command has more.
const maxTexts = 256

// takeTexts returns room for n words, which nothing else has or gets.
func (t *textRoom) takeTexts(n int) []string {
	if n == 0 {
		return []string{}
	}
	if n > len(t.free) {
		t.size = max(n, min(2*t.size, maxTexts))
		t.free = make([]string, t.size)
	}
	room := t.free[:n:n]
	t.free = t.free[n:]
	return room
}
