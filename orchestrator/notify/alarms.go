package notify

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Blocked is a text of a user that was blocked as an attack. It holds no word of it.
type Blocked struct {
	Request string    `json:"request"`
	User    string    `json:"user"`
	At      time.Time `json:"at"`
	Score   int       `json:"score"`
	Rules   []string  `json:"rules"`
	// Others is how many more texts were blocked since the message before.
	Others int `json:"others"`
}

// Alarms tell channels of blocked texts. Who calls Tell keeps a flood away: a message is sent for each.
type Alarms struct {
	list   []Channel
	public string
	queue  chan Blocked
	log    *slog.Logger
}

// NewAlarms tells the channels. public is the address of the pages; empty without.
func NewAlarms(list []Channel, public string, log *slog.Logger) *Alarms {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Alarms{list, public, make(chan Blocked, 8), log}
}

// Tell has channels told, without waiting for them. What there is no room for is dropped: the ledger has it all.
func (a *Alarms) Tell(b Blocked) {
	select {
	case a.queue <- b:
	default:
	}
}

// Run tells channels until ctx ends, and returns nil then. A channel that fails is logged, and tried with the next.
func (a *Alarms) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case b := <-a.queue:
			for _, ch := range a.list {
				c := Courier{channel: ch}
				if err := c.send(ctx, newAlarm(b, ch.Name, a.public)); err != nil && ctx.Err() == nil {
					a.log.Warn("a channel was not told of a blocked text; the ledger has it", "channel", ch.Name, "request", b.Request, "error", err)
				}
			}
		}
	}
}

// newAlarm returns the message of a blocked text.
func newAlarm(b Blocked, channel, public string) Message {
	m := newMessage(KindBlocked, channel, public, nil, b.At)
	m.ID, m.Blocked = messageID(KindBlocked, channel+"\x00"+b.Request, nil), &b
	if public != "" {
		m.Link = strings.TrimRight(public, "/") + "/intents/" + b.Request
	}
	return m
}

// line says in plain text what was blocked.
func (b Blocked) line() string {
	rules := make([]string, 0, maxItems)
	for _, r := range b.Rules[:min(len(b.Rules), maxItems)] {
		rules = append(rules, plainName(r))
	}
	s := fmt.Sprintf("request %s, for %s, score %d, by %s", plainName(b.Request), plainName(b.User), b.Score, strings.Join(rules, ", "))
	if b.Others > 0 {
		s += fmt.Sprintf("; %d more since the message before", b.Others)
	}
	return s
}
