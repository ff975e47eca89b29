package handover

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel"
)

// deriveID is an id that the parts make, and no other parts do: each is framed by its length. kind
// keeps ids of different things apart, and is the beginning of the id.
func deriveID(kind string, parts ...string) string {
	h := sha256.New()
	for _, p := range append([]string{"vedette/handover/v1", kind}, parts...) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return kind + "-" + hex.EncodeToString(h.Sum(nil))
}

// ConversationID is how a principal's conversation for a user is named on record.
func ConversationID(principal, user, conversation string) string {
	return deriveID("remote", principal, user, conversation)
}

// CallID is how a principal's call for a user is named on record.
func CallID(principal, user, conversation, callID string) string {
	return deriveID("call", principal, user, conversation, callID)
}

// Bounds of a proposal.
const (
	// DefaultAgent is who proposes a call where Proposal.Agent is empty.
	DefaultAgent = "remote"
	// MaxHistory is how many results a proposal may bring, MaxHistoryBytes how long they may be in all.
	MaxHistory      = 256
	MaxHistoryBytes = 1 << 20
	// MaxText is the greatest length in bytes of a request or a mission.
	MaxText = 256 << 10
)

// check finds what is wrong with a proposal before anything looks at its call. The error wraps
// ErrProposal and quotes nothing.
func (p *Proposal) check() error {
	for _, f := range []struct {
		name, text string
		needed     bool
	}{
		{"principal", p.Principal, true}, {"user", p.User, true}, {"conversation", p.Conversation, true},
		{"call id", p.CallID, true}, {"name of the principal", p.By, false}, {"agent", p.Agent, false}, {"turn", p.Turn, false},
	} {
		if err := checkName(f.name, f.text, f.needed); err != nil {
			return err
		}
	}
	size := 0
	for _, r := range p.History {
		size += len(r.Skill) + len(r.Arguments) + len(r.Result)
	}
	switch {
	case p.Forwarding != nil && !p.Forwarding.begun:
		return fmt.Errorf("%w: a forwarded call isn't proposed; use Forward", ErrProposal)
	case len(p.History) > MaxHistory || size > MaxHistoryBytes:
		return fmt.Errorf("%w: history holds more than %d results or %d bytes; send the newest", ErrProposal, MaxHistory, MaxHistoryBytes)
	case len(p.Mission) > MaxText || p.Request != nil && len(*p.Request) > MaxText:
		return fmt.Errorf("%w: mission and request may have %d bytes each", ErrProposal, MaxText)
	case !utf8.ValidString(p.Mission) || p.Request != nil && !utf8.ValidString(*p.Request):
		return fmt.Errorf("%w: mission and request must be UTF-8", ErrProposal)
	case p.Calls < 0:
		return fmt.Errorf("%w: calls is negative", ErrProposal)
	}
	return nil
}

// checkName checks one name of a proposal.
func checkName(what, text string, needed bool) error {
	switch {
	case text == "" && needed:
		return fmt.Errorf("%w: %s is missing", ErrProposal, what)
	case len(text) > sentinel.MaxID:
		return fmt.Errorf("%w: %s is longer than %d bytes", ErrProposal, what, sentinel.MaxID)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("%w: %s must be one line of text", ErrProposal, what)
	}
	return nil
}

// newGrant is the authority that a proposal has. Its id covers what the call was proposed for, so that
// a repeat for another purpose is another call. It doesn't cover what the server knows of the
// principal: that holds as it is now.
func newGrant(h Options, p *Proposal) (sentinel.Grant, error) {
	if p.Forwarding != nil {
		return newForwardingGrant(h, p)
	}
	request, said := "", "none"
	if p.Request != nil {
		request, said = *p.Request, "said"
	}
	agent := p.Agent
	if agent == "" {
		agent = DefaultAgent
	}
	o := sentinel.GrantOptions{
		ID:           deriveID("grant", p.Principal, p.User, p.Conversation, p.Turn, agent, p.Mission, said, request),
		User:         p.User,
		Conversation: ConversationID(p.Principal, p.User, p.Conversation),
		Turn:         deriveID("turn", p.Principal, p.User, p.Conversation, p.Turn, said, request),
		Agent:        agent,
		Mission:      p.Mission,
		MissionBy:    sentinel.ByOrchestrator,
		// It was written elsewhere, and no checkpoint has judged it against the user's words.
		MissionTainted: true,
		Scope:          narrowScope(h.Skills, p),
		Calls:          p.Calls,
		Remote:         p.Principal,
		Proposer:       cmp.Or(p.By, p.Principal),
	}
	return p.finishGrant(h, o)
}

// finishGrant makes the grant of what it is for, with the request as its own words or as a claim.
func (p *Proposal) finishGrant(h Options, o sentinel.GrantOptions) (sentinel.Grant, error) {
	o.Calls = cmp.Or(o.Calls, h.Calls)
	switch {
	case p.Request == nil:
	case p.RequestHuman:
		o.Request = p.Request
	case o.Mission == "":
		o.Mission = *p.Request
	default:
		o.Mission += "\n\nThe program says that it was asked for this:\n" + *p.Request
	}
	g, err := sentinel.NewGrant(o)
	if err != nil {
		return g, fmt.Errorf("%w: %w", ErrProposal, err)
	}
	return g, nil
}
