package notify

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"strings"

	"github.com/vedette-dev/vedette/internal/textcut"
)

// Slack posts messages to an incoming webhook of Slack.
type Slack struct {
	// URL is the webhook's. It is a secret: it is all that posting there takes.
	URL string
	// TLS is nil, or how the receiver's certificate is checked.
	TLS *tls.Config
}

type slack struct{ *poster }

// NewSlack checks the settings.
func NewSlack(s Slack) (Notifier, error) {
	p, err := newPoster(s.URL, s.TLS)
	if err != nil {
		return nil, err
	}
	return &slack{p}, nil
}

// slackBlock is a block of Slack's Block Kit.
type slackBlock struct {
	Type string     `json:"type"`
	Text *slackText `json:"text,omitempty"`
}

type slackText struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// Verbatim keeps Slack from making links and mentions of what looks like one.
	Verbatim bool `json:"verbatim"`
}

// slackSection is the most that Slack takes of text in one section, less some room.
const slackSection = 2900

// Send implements Notifier. Names are escaped: they can't mention people, link or format.
func (s *slack) Send(ctx context.Context, m Message) error {
	blocks := []slackBlock{section("*" + escapeSlack(m.Title()) + "*")}
	for i, line := range m.Lines() {
		text := escapeSlack(textcut.Head(line, slackSection/6)) // an escaped character takes five more at most
		if link := m.link(i); link != "" {
			text += " <" + link + "|Open>"
		}
		blocks = append(blocks, section(text))
	}
	body, err := json.Marshal(map[string]any{"text": escapeSlack(m.Title()), "blocks": blocks})
	if err != nil {
		return &SendError{Reason: "the message can't be written as JSON", Refused: true}
	}
	return s.post(ctx, body, nil)
}

func section(text string) slackBlock {
	return slackBlock{Type: "section", Text: &slackText{Type: "mrkdwn", Text: text, Verbatim: true}}
}

// escapeSlack makes a text mean nothing but itself in Slack's mrkdwn. The three characters
// that Slack names are escaped; those that format get an invisible neighbour.
func escapeSlack(s string) string {
	return slackEscapes.Replace(s)
}

var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;",
	"*", "\u200b*", "_", "\u200b_", "~", "\u200b~", "`", "\u200b`", "\n", " ", "\r", " ")
