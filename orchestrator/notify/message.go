package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/internal/runes"
	"github.com/vedette-dev/vedette/internal/textcut"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// Kind is what a message is about.
type Kind string

// The kinds of messages. Names that are sent don't change.
const (
	KindPending Kind = "approvals.pending" // calls began to wait for a person
	KindDecided Kind = "approvals.decided" // calls that were told of wait no more
	KindAlert   Kind = "alerts"            // the decision log shows what a rule under alerts watches for
	KindBlocked Kind = "intents.blocked"   // a text of a user was blocked as an attack
	KindTest    Kind = "test"              // an operator tries the channel
)

// maxItems is how many approvals a message names; More counts the others.
const maxItems = 20

// Message is what a channel is told. It holds names, codes and times, and no value of a call.
type Message struct {
	// ID is the same each time the same message is sent.
	ID   string    `json:"id"`
	Kind Kind      `json:"type"`
	At   time.Time `json:"timestamp"`
	// Items are the approvals, at most 20; More is how many besides.
	Items []Item `json:"approvals"`
	More  int    `json:"more"`
	// Alerts are what a message of the kind KindAlert tells instead, at most 20.
	Alerts []Alert `json:"alerts,omitempty"`
	// Blocked is what was blocked, of a message about that.
	Blocked *Blocked `json:"blocked,omitempty"`
	// Link leads to the page of all that wait, of alerts to the log; empty without server.public_url.
	Link string `json:"link,omitempty"`
}

// Item is one approval of a Message.
type Item struct {
	Approval     string         `json:"approval"`
	State        approval.State `json:"state"`
	Skill        string         `json:"skill"`
	Effect       string         `json:"effect"`
	Agent        string         `json:"agent"`
	User         string         `json:"user"`
	Conversation string         `json:"conversation"`
	Asked        time.Time      `json:"asked"`
	Expires      time.Time      `json:"expires"`
	// Needed is how many people must say yes.
	Needed int `json:"needed"`
	// By are those who decided, where people did.
	By string `json:"by,omitempty"`
	// Link opens the approval's page. It decides nothing.
	Link string `json:"link,omitempty"`
}

// Notifier delivers messages to one place.
type Notifier interface {
	// Send delivers one message. It returns nil once the other side has taken it, and a
	// *SendError otherwise. Send ends soon after ctx does.
	Send(ctx context.Context, m Message) error
}

// SendError is a message that was not delivered. It holds no address and no secret.
type SendError struct {
	// Reason says what happened, in an operator's words.
	Reason string
	// RetryAfter is how long the other side asked to be left alone; zero is no wish.
	RetryAfter time.Duration
	// Refused is set where the other side understood and refused: the channel's settings are wrong.
	Refused bool
}

// Error returns the reason.
func (e *SendError) Error() string { return e.Reason }

// newMessage makes a message of approvals for a channel.
func newMessage(kind Kind, channel, public string, items []approval.Item, now time.Time) Message {
	m := Message{Kind: kind, At: now.UTC().Truncate(time.Second), ID: messageID(kind, channel, items), Items: []Item{}}
	if public != "" {
		m.Link = strings.TrimRight(public, "/") + "/approvals"
	}
	for i, it := range items {
		if i == maxItems {
			m.More = len(items) - maxItems
			break
		}
		one := Item{
			Approval: it.ID, State: it.State, Skill: it.Skill, Effect: string(it.Effect), Agent: it.Agent, User: it.User,
			Conversation: it.Conversation, Asked: it.Asked, Expires: it.Expires, Needed: it.Needed, By: it.By,
		}
		if m.Link != "" {
			one.Link = m.Link + "/" + it.ID
		}
		m.Items = append(m.Items, one)
	}
	return m
}

// NewTest returns a message with which an operator tries a channel.
func NewTest(public string, now time.Time) Message {
	m := newMessage(KindTest, "", public, nil, now)
	m.ID = messageID(KindTest, now.String(), nil)
	return m
}

// messageID names a message by what it tells and whom, so that a repeated one can be known.
func messageID(kind Kind, channel string, items []approval.Item) string {
	parts := make([]string, len(items))
	for i, it := range items {
		parts[i] = it.ID + "\x00" + string(it.State)
	}
	return nameMessage(kind, channel, parts)
}

func nameMessage(kind Kind, channel string, parts []string) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s\x00%s", kind, channel)
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "\x00%s", p)
	}
	return "msg_" + hex.EncodeToString(h.Sum(nil)[:16])
}

// Title is the message in one line.
func (m Message) Title() string {
	n := len(m.Items) + m.More
	switch {
	case m.Kind == KindTest:
		return "Vedette: this is a test; no call waits because of it"
	case m.Kind == KindAlert && len(m.Alerts)+m.More == 1:
		return "Vedette: an alert of the decision log"
	case m.Kind == KindAlert:
		return fmt.Sprintf("Vedette: %d alerts of the decision log", len(m.Alerts)+m.More)
	case m.Kind == KindBlocked:
		return "Vedette: a text was blocked as an attack"
	case m.Kind == KindDecided && n == 1:
		return "Vedette: a call waits no more"
	case m.Kind == KindDecided:
		return fmt.Sprintf("Vedette: %d calls wait no more", n)
	case n == 1:
		return "Vedette: a call waits for an answer"
	}
	return fmt.Sprintf("Vedette: %d calls wait for an answer", n)
}

// Lines are the message's items, one line each, as plain text.
func (m Message) Lines() []string {
	var out []string
	if m.Blocked != nil {
		out = append(out, m.Blocked.line())
	}
	for _, it := range m.Items {
		out = append(out, it.line(m.Kind))
	}
	for _, a := range m.Alerts {
		out = append(out, a.line())
	}
	if m.More > 0 {
		out = append(out, fmt.Sprintf("and %d more", m.More))
	}
	return out
}

// link is what opens what the i-th line is about; empty for none.
func (m Message) link(i int) string {
	switch {
	case i < len(m.Items):
		return m.Items[i].Link
	case i-len(m.Items) < len(m.Alerts):
		return m.Alerts[i-len(m.Items)].Link
	}
	return ""
}

// line says in plain text what an approval is about.
func (it Item) line(kind Kind) string {
	s := fmt.Sprintf("%s (%s), for %s, by the agent %s", plainName(it.Skill), it.Effect, plainName(it.User), plainName(it.Agent))
	if kind == KindDecided {
		s += ": " + string(it.State)
		if it.By != "" {
			s += " by " + plainName(it.By)
		}
		return s
	}
	s += ", until " + it.Expires.UTC().Format("2006-01-02 15:04 UTC")
	if it.Needed > 1 {
		s += fmt.Sprintf(", %d people must say yes", it.Needed)
	}
	return s
}

// maxName is how much of a name a line has, in bytes.
const maxName = 128

// plainName is a name as people read it in a message. Programs and models choose some of them, so what no screen
// shows stands there as its escape, and so does the slash: readers of mail would make links.
func plainName(name string) string {
	if name == "" {
		return "(unknown)"
	}
	var b strings.Builder
	for _, r := range textcut.Head(name, maxName) {
		if r == '/' || r == '\\' || r == utf8.RuneError || !unicode.IsPrint(r) || runes.IsInvisible(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
