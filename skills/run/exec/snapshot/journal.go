package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// seen is what a commit finds at a path of a root before it begins: enough to know it
// again. The zero value is nothing at all.
type seen struct {
	ino   uint64
	ctime int64 // nanoseconds
}

// step is one change with what a commit must find on both sides.
type step struct {
	Change
	upper uint64 // inode in the upper layer; 0 where nothing is moved from there
	was   seen   // in the root
}

const journalHead = "vedette snapshot journal 1"

// journal is a commit that was decided.
type journal struct {
	digest string
	left   int // refused changes that aren't among the steps
	steps  []step
}

// encodeJournal returns the journal's bytes. Its last line has the hash of the others,
// so a journal that wasn't written to its end is found.
func encodeJournal(j journal) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s %d %d\n", journalHead, j.digest, j.left, len(j.steps))
	for _, s := range j.steps {
		fmt.Fprintf(&b, "%d %d %d %s\n", s.upper, s.was.ino, s.was.ctime, encodeChange(s.Change))
	}
	sum := sha256.Sum256([]byte(b.String()))
	fmt.Fprintf(&b, "end %s\n", hex.EncodeToString(sum[:]))
	return []byte(b.String())
}

// decodeJournal reads what encodeJournal writes, and nothing else. The error is ErrJournal.
func decodeJournal(raw []byte, roots int) (journal, error) {
	var j journal
	text := string(raw)
	body, end, found := cutLastLine(text)
	sum := sha256.Sum256([]byte(body))
	if !found || end != "end "+hex.EncodeToString(sum[:])+"\n" {
		return j, ErrJournal
	}
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	if len(lines) < 2 || lines[0] != journalHead {
		return j, ErrJournal
	}
	head := strings.Split(lines[1], " ")
	if len(head) != 3 {
		return j, ErrJournal
	}
	var err1, err2 error
	var count int
	j.digest = head[0]
	j.left, err1 = strconv.Atoi(head[1])
	count, err2 = strconv.Atoi(head[2])
	if err1 != nil || err2 != nil || j.left < 0 || count != len(lines)-2 {
		return j, ErrJournal
	}
	for _, line := range lines[2:] {
		s, err := decodeStep(line)
		if err != nil || s.Root >= roots {
			return j, ErrJournal
		}
		j.steps = append(j.steps, s)
	}
	if string(encodeJournal(j)) != text {
		return j, ErrJournal
	}
	return j, nil
}

// cutLastLine cuts a text before its last line.
func cutLastLine(text string) (body, last string, found bool) {
	if !strings.HasSuffix(text, "\n") {
		return "", "", false
	}
	at := strings.LastIndexByte(text[:len(text)-1], '\n')
	if at < 0 {
		return "", "", false
	}
	return text[:at+1], text[at+1:], true
}

func decodeStep(line string) (step, error) {
	parts := strings.SplitN(line, " ", 4)
	if len(parts) != 4 {
		return step{}, errLine
	}
	var s step
	var err1, err2, err3, err4 error
	s.upper, err1 = strconv.ParseUint(parts[0], 10, 64)
	s.was.ino, err2 = strconv.ParseUint(parts[1], 10, 64)
	s.was.ctime, err3 = strconv.ParseInt(parts[2], 10, 64)
	s.Change, err4 = decodeChange(parts[3])
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || s.Refused != "" {
		return step{}, errLine
	}
	return s, nil
}

// displacesOld reports whether the old must go before the new can come. A folder can't be
// exchanged for a file without showing either half made.
func (s step) displacesOld() bool {
	return s.Kind != Deleted && s.Was != None && (s.Was == Folder) != (s.Type == Folder)
}
