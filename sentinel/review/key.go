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
	d.text(kind)
	return d
}

// text adds a part. A hash takes everything, so no write fails.
func (d digest) text(s string) {
	if d.w.Available() < 8 {
		_ = d.w.Flush()
	}
	_, _ = d.w.Write(binary.BigEndian.AppendUint64(d.w.AvailableBuffer(), uint64(len(s))))
	_, _ = d.w.WriteString(s)
}

func (d digest) flag(b bool) {
	if b {
		d.text("1")
		return
	}
	d.text("0")
}

func (d digest) key() (k key) {
	_ = d.w.Flush()
	d.h.Sum(k[:0])
	return k
}

// subject is what every key holds: whose call it is and what would run. Models,
// prompt and policy are the Gate's own, and a Gate is for one configuration.
func (d digest) subject(c sentinel.Call) {
	g := c.Grant()
	d.text(g.User())
	d.text(g.Conversation())
	d.text(g.ID())
	d.text(c.Skill().Digest())
	d.text(c.Args())
	d.flag(c.Outward()) // it says which outcome a missing judgement has
}

// situation names a call in the situation that it is made in: the same one
// again, with nothing returned since, has this key.
func situation(c sentinel.Call) key {
	d := newDigest("situation")
	d.subject(c)
	g := c.Grant()
	request, known := g.Request() // an embedder may use one id for two grants
	d.flag(known)
	d.text(request)
	d.text(g.Mission())
	d.text(string(g.MissionBy()))
	d.flag(g.MissionTainted())
	d.text(g.Agent())
	d.flag(g.Tainted())
	trace := c.Trace().Digest()
	d.text(string(trace[:]))
	for _, s := range g.Scope().List() { // it can grow while the grant stays
		d.text(s)
	}
	return d.key()
}

// asked names the very question that a model is asked about a call.
func asked(c sentinel.Call, document string) key {
	d := newDigest("question")
	d.subject(c)
	d.text(document)
	return d.key()
}
