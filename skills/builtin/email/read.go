package email

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
)

// The bounds of one list or search.
const (
	defaultLimit = 20
	maxLimit     = 100
	maxSearched  = 5000
	maxScanned   = 128 << 20
)

// summary is one message in a list.
type summary struct {
	ID      string `json:"id"`
	Folder  string `json:"folder"`
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	Subject string `json:"subject,omitempty"`
	Date    string `json:"date,omitempty"`
	Unread  bool   `json:"unread,omitempty"`
}

func newSummary(e entry, p *parsed) summary {
	return summary{
		ID: e.id(), Folder: e.folder, From: clipText(p.From, 300), To: clipText(p.To, 300),
		Subject: clipText(p.Subject, 300), Date: p.Date, Unread: e.isUnread(),
	}
}

// listing is the result of a list or search.
type listing struct {
	Messages []summary `json:"messages"`
	// Skipped counts messages that are too large or can't be read.
	Skipped int `json:"skipped,omitempty"`
	// Incomplete is set when there are more, or a bound was reached.
	Incomplete bool `json:"incomplete,omitempty"`
}

func (l listing) marshalResult() (skills.Result, error) {
	b, err := json.Marshal(l)
	return newResult(string(b), l.Incomplete), err
}

func (b *box) runListSkill(ctx context.Context, o skills.Order) (skills.Result, error) {
	a := struct {
		Folder string `json:"folder"`
		Limit  int    `json:"limit"`
	}{Limit: defaultLimit}
	if err := decode.Args(o.Args, &a); err != nil {
		return skills.Result{}, err
	}
	dir, err := directoryOf(a.Folder)
	if err != nil {
		return skills.Result{}, err
	}
	root, err := b.openMaildir(ctx)
	if err != nil {
		return skills.Result{}, err
	}
	defer func() { _ = root.Close() }()
	es, err := listEntries(root, dir)
	if err != nil {
		return skills.Result{}, err
	}
	return b.pickMessages(ctx, root, es, a.Limit, func(*parsed) bool { return true })
}

func (b *box) runSearchSkill(ctx context.Context, o skills.Order) (skills.Result, error) {
	a := struct {
		Query string `json:"query"`
		From  string `json:"from"`
		Limit int    `json:"limit"`
	}{Limit: defaultLimit}
	if err := decode.Args(o.Args, &a); err != nil {
		return skills.Result{}, err
	}
	query, from := strings.ToLower(a.Query), strings.ToLower(a.From)
	if query == "" {
		return skills.Result{}, decode.Refuse("the query is empty")
	}
	root, err := b.openMaildir(ctx)
	if err != nil {
		return skills.Result{}, err
	}
	defer func() { _ = root.Close() }()
	es, err := listAllEntries(root)
	if err != nil {
		return skills.Result{}, err
	}
	return b.pickMessages(ctx, root, es, a.Limit, func(p *parsed) bool {
		if !strings.Contains(strings.ToLower(p.From), from) {
			return false
		}
		for _, s := range []string{p.Subject, p.From, p.To, p.Cc, p.Text} {
			if strings.Contains(strings.ToLower(s), query) {
				return true
			}
		}
		return false
	})
}

// pickMessages parses messages in order until limit of them are wanted or a bound is
// reached.
func (b *box) pickMessages(ctx context.Context, root *os.Root, es []entry, limit int, want func(*parsed) bool) (skills.Result, error) {
	l := listing{Messages: []summary{}}
	limit = min(max(limit, 1), maxLimit)
	var scanned int64
	for i, e := range es {
		if err := ctx.Err(); err != nil {
			return skills.Result{}, err
		}
		if len(l.Messages) >= limit || i >= maxSearched || scanned > maxScanned {
			l.Incomplete = true
			break
		}
		p, size, err := b.loadMessage(ctx, root, e)
		scanned += size
		if ctx.Err() != nil {
			return skills.Result{}, ctx.Err()
		}
		if err != nil {
			l.Skipped++
			continue
		}
		if want(p) {
			l.Messages = append(l.Messages, newSummary(e, p))
		}
	}
	return l.marshalResult()
}

// loadMessage reads and parses one message.
func (b *box) loadMessage(ctx context.Context, root *os.Root, e entry) (*parsed, int64, error) {
	f, size, err := b.openContent(root, e)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }()
	if size > b.maxMessage {
		return nil, 0, decode.Refuse("the message has %d bytes; at most %d are handled", size, b.maxMessage)
	}
	p, err := parseMessage(ctx, io.LimitReader(f, b.maxMessage))
	if ctx.Err() != nil {
		return nil, size, ctx.Err()
	}
	if err != nil {
		return nil, size, decode.Refuse("%w", err)
	}
	return p, size, nil
}

func (b *box) runReadSkill(ctx context.Context, o skills.Order) (skills.Result, error) {
	var a struct {
		ID string `json:"id"`
	}
	if err := decode.Args(o.Args, &a); err != nil {
		return skills.Result{}, err
	}
	root, err := b.openMaildir(ctx)
	if err != nil {
		return skills.Result{}, err
	}
	defer func() { _ = root.Close() }()
	e, err := b.findEntryByID(root, a.ID)
	if err != nil {
		return skills.Result{}, err
	}
	p, _, err := b.loadMessage(ctx, root, e)
	if err != nil {
		return skills.Result{}, err
	}
	raw, err := json.Marshal(struct {
		ID     string `json:"id"`
		Folder string `json:"folder"`
		*parsed
	}{e.id(), e.folder, p})
	return newResult(string(raw), p.Cut), err
}
