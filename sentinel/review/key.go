package review

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/vedette-dev/vedette/sentinel"
)

// key names a question. Two questions with one key have one answer.
type key [sha256.Size]byte

// digest writes parts into a key, each after its length, so that no two lists
// of parts read alike.
type digest struct {
	h hash.Hash
	w *bufio.Writer // to h, which would copy each text whole
}

// digestBuffer is how much of a text is copied at a time.
const digestBuffer = 512

func newDigest(kind string) digest {
	h := sha256.New()
	d := digest{h, bufio.NewWriterSize(h, digestBuffer)}
	d.addText(kind)
	return d
}

// addText adds a part. A hash takes everything, so no write fails.
func (d digest) addText(s string) {
	if d.w.Available() < 8 {
		_ = d.w.Flush()
	}
	_, _ = d.w.Write(binary.BigEndian.AppendUint64(d.w.AvailableBuffer(), uint64(len(s))))
	_, _ = d.w.WriteString(s)
}

func (d digest) addFlag(b bool) {
	if b {
		d.addText("1")
		return
	}
	d.addText("0")
}

func (d digest) sumKey() (k key) {
	_ = d.w.Flush()
	d.h.Sum(k[:0])
	return k
}

// addSubject is what every key holds: whose call it is and what would run. Models,
// prompt and policy are the Gate's own, and a Gate is for one configuration.
func (d digest) addSubject(c sentinel.Call) {
	g := c.Grant()
	d.addText(g.User())
	d.addText(g.Conversation())
	d.addText(g.ID())
	d.addText(c.Skill().Digest())
	d.addText(c.Args())
	d.addFlag(c.Outward()) // it says which outcome a missing judgement has
}

// situationKey names a call in the situation that it is made in: the same one
// again, with nothing returned since, has this key.
func situationKey(c sentinel.Call) key {
	d := newDigest("situation")
	d.addSubject(c)
	g := c.Grant()
	request, known := g.Request() // an embedder may use one id for two grants
	d.addFlag(known)
	d.addText(request)
	d.addText(g.Mission())
	d.addText(string(g.MissionBy()))
	d.addFlag(g.MissionTainted())
	d.addText(g.Agent())
	d.addText(g.Intent())
	d.addFlag(g.Tainted())
	d.addFlag(g.TaintedThisTurn())
	for _, words := range g.EarlierWords() {
		d.addText(words)
	}
	d.addText("") // no earlier words are empty, so this ends them
	trace := c.Trace().Digest()
	d.addText(string(trace[:]))
	f, _ := c.Findings() // a judgement spends the doubts that it was asked about, and no others
	d.addText(sentinel.DoubtsKey(f.Signals))
	sum := c.EvidenceDigest() // it knows what the trace's digest doesn't: trust by field, and other agents' results
	d.addText(string(sum[:]))
	for _, s := range g.Scope().List() { // it can grow while the grant stays
		d.addText(s)
	}
	return d.sumKey()
}

// questionKey names the very question that a model is asked about a call.
func questionKey(c sentinel.Call, document string) key {
	d := newDigest("question")
	d.addSubject(c)
	d.addText(document)
	return d.sumKey()
}
