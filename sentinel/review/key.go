package review

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"

	"github.com/vedette-dev/vedette/sentinel"
)

// key names a question. Two questions with one key have one answer.
type key [sha256.Size]byte

// digest writes parts into a key, each after its length, so that no two lists
// of parts read alike.
type digest struct{ h hash.Hash }

func newDigest(kind string) digest {
	d := digest{sha256.New()}
	d.text(kind)
	return d
}

func (d digest) text(s string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(s)))
	d.h.Write(n[:])
	_, _ = io.WriteString(d.h, s) // a hash takes everything
}

func (d digest) flag(b bool) {
	if b {
		d.text("1")
		return
	}
	d.text("0")
}

func (d digest) key() (k key) {
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
