package egress

import (
	"golang.org/x/net/dns/dnsmessage"
)

// zone answers the program's DNS. Each listed name gets an address of our own; all others have
// none. No question leaves the machine.
type zone struct {
	policy *Policy
	names  *names
}

// nameTTL is how many seconds an answer may be kept. It holds for the whole run.
const nameTTL = 60

// answerQuery returns the answer to one message, nil where it deserves none, and what is to be
// recorded. That has a valid Outcome where the question was refused.
func (z *zone) answerQuery(msg []byte) (reply []byte, refused Connection) {
	var p dnsmessage.Parser
	h, err := p.Start(msg)
	if err != nil || h.Response {
		return nil, Connection{Via: ViaDNS, Outcome: BadRequest}
	}
	h = dnsmessage.Header{ID: h.ID, OpCode: h.OpCode, Response: true, RecursionDesired: h.RecursionDesired, RecursionAvailable: true}
	questions, err := p.AllQuestions()
	switch {
	case h.OpCode != 0:
		h.RCode = dnsmessage.RCodeNotImplemented
		return packAnswer(h, nil, nil), Connection{Via: ViaDNS, Outcome: BadRequest}
	case err != nil || len(questions) != 1 || questions[0].Class != dnsmessage.ClassINET:
		h.RCode = dnsmessage.RCodeFormatError
		return packAnswer(h, nil, nil), Connection{Via: ViaDNS, Outcome: BadRequest}
	}
	q := questions[0]
	name := trimHostName(q.Name.String())
	if !z.policy.listsName(name) {
		h.RCode = dnsmessage.RCodeNameError
		return packAnswer(h, &q, nil), Connection{Via: ViaDNS, Host: name, Outcome: z.policy.judgeName(name, 0)}
	}
	if q.Type != dnsmessage.TypeA && q.Type != dnsmessage.TypeALL {
		return packAnswer(h, &q, nil), Connection{} // the name is there, and has no such record
	}
	a, ok := z.names.addressOf(name)
	if !ok {
		h.RCode = dnsmessage.RCodeServerFailure
		return packAnswer(h, &q, nil), Connection{Via: ViaDNS, Host: name, Outcome: Full}
	}
	return packAnswer(h, &q, &dnsmessage.AResource{A: a.As4()}), Connection{}
}

// packAnswer returns a message, or nil where it can't be packed. The question comes
// back as it was asked: some resolvers check its capitals.
func packAnswer(h dnsmessage.Header, q *dnsmessage.Question, a *dnsmessage.AResource) []byte {
	m := dnsmessage.Message{Header: h}
	if q != nil {
		m.Questions = []dnsmessage.Question{*q}
	}
	if a != nil {
		m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: nameTTL}, Body: a}}
	}
	b, err := m.Pack()
	if err != nil {
		return nil
	}
	return b
}
