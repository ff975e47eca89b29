package notify

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Watch is what an alert is about.
type Watch string

// The kinds of alerts. Names that are sent don't change.
const (
	WatchDenials           Watch = "denials"
	WatchDegraded          Watch = "degraded"
	WatchFirstIrreversible Watch = "first_irreversible"
	WatchCanaries          Watch = "canaries"
	WatchVerify            Watch = "verify"
)

// Alert is something that the decision log shows and that people are told of. It holds names and numbers, and no
// value of a call.
type Alert struct {
	ID string `json:"alert"`
	// Rule names the rule of the configuration.
	Rule  string    `json:"rule"`
	Watch Watch     `json:"watch"`
	At    time.Time `json:"at"`
	// Name is the skill or the model that the alert is about.
	Name string `json:"name,omitempty"`
	// Count are the decisions that the rule counts, of all that it looks at, within Seconds. Of verify, Count is
	// how many problems there are.
	Count   int64 `json:"count,omitempty"`
	Of      int64 `json:"of,omitempty"`
	Seconds int64 `json:"seconds,omitempty"`
	// Record is the first bad record that verify names.
	Record *int64 `json:"record,omitempty"`
	// Query chooses the records on the page of the log and with vedette ledger list.
	Query string `json:"query,omitempty"`
	// Link opens them. It decides nothing.
	Link string `json:"link,omitempty"`
}

// Outbox has alerts for channels until they are delivered.
type Outbox interface {
	// Due returns the alerts that a channel was not told of yet, the oldest first.
	Due(ctx context.Context, channel string) ([]Alert, error)
	// Forget drops those that were delivered.
	Forget(ctx context.Context, channel string, list []Alert) error
}

// line says in plain text what an alert is about.
func (a Alert) line() string {
	s := plainName(a.Rule) + ": "
	within := time.Duration(a.Seconds) * time.Second
	switch a.Watch {
	case WatchDenials:
		s += fmt.Sprintf("%d of %d decisions were denials, within %s", a.Count, a.Of, within)
	case WatchDegraded:
		s += fmt.Sprintf("%d of %d decisions had no model's judgement, within %s", a.Count, a.Of, within)
	case WatchFirstIrreversible:
		s += fmt.Sprintf("the skill %s was allowed something irreversible for the first time", plainName(a.Name))
	case WatchCanaries:
		s += fmt.Sprintf("the model %s fails its canaries, so its judgements don't count", plainName(a.Name))
	case WatchVerify:
		switch {
		case a.Count == 0:
			s += "the ledger can't be verified; vedette ledger verify says why"
		case a.Record != nil:
			s += fmt.Sprintf("the ledger was changed: %d problems, the first at record %d; see vedette ledger verify", a.Count, *a.Record)
		default:
			s += fmt.Sprintf("the ledger was changed: %d problems; see vedette ledger verify", a.Count)
		}
	}
	return s + ", at " + a.At.UTC().Format("2006-01-02 15:04 UTC")
}

// newAlerts makes a message of alerts for a channel.
func newAlerts(channel, public string, list []Alert, now time.Time) Message {
	m := newMessage(KindAlert, channel, "", nil, now)
	parts := []string{}
	for i, a := range list {
		parts = append(parts, a.ID)
		if i >= maxItems {
			m.More = len(list) - maxItems
			continue
		}
		if public != "" && a.Query != "" {
			a.Link = strings.TrimRight(public, "/") + "/log?q=" + url.QueryEscape(a.Query)
		}
		m.Alerts = append(m.Alerts, a)
	}
	if public != "" {
		m.Link = strings.TrimRight(public, "/") + "/log"
	}
	m.ID = nameMessage(KindAlert, channel, parts)
	return m
}
