package notify

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"strings"

	"github.com/vedette-dev/vedette/internal/textcut"
)

// Teams posts adaptive cards to a workflow of Microsoft Teams ("When a Teams webhook request is
// received").
type Teams struct {
	// URL is the workflow's. It is a secret: it is all that posting there takes.
	URL string
	// TLS is nil, or how the receiver's certificate is checked.
	TLS *tls.Config
}

type teams struct{ *poster }

// NewTeams checks the settings.
func NewTeams(t Teams) (Notifier, error) {
	p, err := newPoster(t.URL, t.TLS)
	if err != nil {
		return nil, err
	}
	return &teams{p}, nil
}

// cardBlock is a text of an adaptive card. A TextRun reads no Markdown.
type cardBlock struct {
	Type    string    `json:"type"`
	Inlines []cardRun `json:"inlines"`
}

type cardRun struct {
	Type   string    `json:"type"`
	Text   string    `json:"text"`
	Weight string    `json:"weight,omitempty"`
	Select *cardOpen `json:"selectAction,omitempty"`
}

type cardOpen struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// teamsLine bounds a line of a card: a message of Teams has at most 28 KB.
const teamsLine = 600

// Send implements Notifier.
func (t *teams) Send(ctx context.Context, m Message) error {
	body := []cardBlock{richText(cardRun{Type: "TextRun", Text: m.Title(), Weight: "Bolder"})}
	for i, line := range m.Lines() {
		run := cardRun{Type: "TextRun", Text: textcut.Head(strings.ReplaceAll(line, "\n", " "), teamsLine)}
		if link := m.link(i); link != "" {
			run.Select = &cardOpen{Type: "Action.OpenUrl", URL: link}
		}
		body = append(body, richText(run))
	}
	raw, err := json.Marshal(map[string]any{"type": "message", "attachments": []any{map[string]any{
		"contentType": "application/vnd.microsoft.card.adaptive",
		"content": map[string]any{
			"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": body,
		},
	}}})
	if err != nil {
		return &SendError{Reason: "the message can't be written as JSON", Refused: true}
	}
	return t.post(ctx, raw, nil)
}

func richText(runs ...cardRun) cardBlock { return cardBlock{Type: "RichTextBlock", Inlines: runs} }
