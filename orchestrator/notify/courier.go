package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/internal/backoff"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/store"
)

const (
	// DefaultBatch is how long what is new is gathered.
	DefaultBatch = 5 * time.Second
	// DefaultThrottle is the least time between two messages of a channel.
	DefaultThrottle = 30 * time.Second
	// lookEvery is how often a courier looks for what is new.
	lookEvery = 2 * time.Second
)

// retries are the pauses after deliveries that failed. A refused one waits the longest.
var retries = backoff.Pauses{First: 5 * time.Second, Longest: 5 * time.Minute, Spread: backoff.Spread{Least: 75, Most: 100}}

// Source lists approvals: an approval.Inbox.
type Source interface {
	List(ctx context.Context, f approval.Filter) ([]approval.Item, error)
}

// Channel is a notifier with its pace.
type Channel struct {
	// Name names the channel in the database and the log. What it was told is kept under it.
	Name     string
	Notifier Notifier
	// Skills are patterns such as "email.*"; none is every skill.
	Skills []string
	// Batch is how long new approvals are gathered; zero is DefaultBatch.
	Batch time.Duration
	// Throttle is the least time between two messages; zero is DefaultThrottle.
	Throttle time.Duration
	// Decided tells the channel too how the approvals ended that it was told of.
	Decided bool
}

// Options are the parts of a Courier.
type Options struct {
	Store *store.Store
	// Source lists the approvals; nil has none.
	Source Source
	// Alerts has the alerts; nil has none.
	Alerts Outbox
	// PublicURL is where people reach the pages; empty leaves links out.
	PublicURL string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log is told when a channel begins to fail and when it works again; nil discards.
	Log *slog.Logger
}

// Status says how a channel does.
type Status struct {
	Channel string `json:"channel"`
	// Waiting is how many approvals and alerts the channel was not told of yet.
	Waiting int `json:"waiting"`
	// Failures is how many deliveries failed since the last that did not; Problem is why.
	Failures int    `json:"failures"`
	Problem  string `json:"problem,omitempty"`
	// Sent is when a message was last delivered by this process.
	Sent time.Time `json:"sent,omitzero"`
}

// Courier tells one channel. Its methods are safe for concurrent use, Run by one goroutine.
type Courier struct {
	o       Options
	channel Channel
	rows    rows

	mu     sync.Mutex
	status Status

	// What Run alone reads and writes.
	told    map[string]bool // approvals that the channel knows to be pending
	fresh   time.Time       // since when something new waits; zero where nothing does
	blocked time.Time       // until when nothing is sent, by throttle or failure
	alerts  int             // that the channel was not told of
}

// Open returns the courier of a channel. Its rows are in the store from then on.
func Open(ctx context.Context, o Options, c Channel) (*Courier, error) {
	if c.Name == "" || c.Notifier == nil {
		return nil, errors.New("a channel needs a name and a notifier")
	}
	for _, p := range c.Skills {
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("%q is no pattern of skills; write one such as email.*", p)
		}
	}
	if err := o.Store.Migrate(ctx, "notices", schema); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c.Batch, c.Throttle = cmp.Or(c.Batch, DefaultBatch), cmp.Or(c.Throttle, DefaultThrottle)
	return &Courier{o: o, channel: c, rows: rows{o.Store, c.Name}, status: Status{Channel: c.Name}}, nil
}

// Status returns how the channel does.
func (c *Courier) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// Run tells the channel until ctx ends, and returns nil then. The error of the store ends it
// too: a supervisor starts it again.
func (c *Courier) Run(ctx context.Context) error {
	c.told = nil
	for {
		if err := c.Look(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		if !backoff.Wait(ctx, lookEvery) {
			return nil
		}
	}
}

// Look does what is to be done now: it looks for what is new, and sends it where batch and
// throttle let it. The error is the store's. Run calls it; a program that has a loop of its own
// calls it from one goroutine.
func (c *Courier) Look(ctx context.Context) error {
	if err := c.tellAlerts(ctx); err != nil {
		return err
	}
	c.setWaiting(c.alerts)
	if c.o.Source == nil {
		return nil
	}
	return c.lookForApprovals(ctx)
}

// tellAlerts sends the alerts before the approvals: rules bound how many there are, and a caller may make
// questions without end.
func (c *Courier) tellAlerts(ctx context.Context) error {
	if c.o.Alerts == nil {
		return nil
	}
	list, err := c.o.Alerts.Due(ctx, c.channel.Name)
	if err != nil {
		return err
	}
	c.alerts = len(list)
	now := c.o.Now()
	if len(list) == 0 || !c.isFree(now) || !c.deliver(ctx, newAlerts(c.channel.Name, c.o.PublicURL, list, now)) {
		return nil
	}
	c.alerts = 0
	return c.o.Alerts.Forget(ctx, c.channel.Name, list)
}

// lookForApprovals tells what waits and what waits no more.
func (c *Courier) lookForApprovals(ctx context.Context) error {
	if c.told == nil {
		told, err := c.rows.read(ctx)
		if err != nil {
			return err
		}
		c.told = told
	}
	list, err := c.o.Source.List(ctx, approval.Filter{})
	if err != nil {
		return err
	}
	pending := map[string]bool{}
	var news []approval.Item
	for _, it := range list {
		pending[it.ID] = true
		if !c.told[it.ID] && c.wants(it.Skill) {
			news = append(news, it)
		}
	}
	var over []string
	for id := range c.told {
		if !pending[id] {
			over = append(over, id)
		}
	}
	c.setWaiting(len(news) + c.alerts)
	if err := c.tellDecided(ctx, over); err != nil {
		return err
	}
	return c.tellPending(ctx, news)
}

// wants reports whether a skill is the channel's.
func (c *Courier) wants(skill string) bool {
	for _, p := range c.channel.Skills {
		if ok, err := path.Match(p, skill); ok && err == nil {
			return true
		}
	}
	return len(c.channel.Skills) == 0
}

// tellPending sends what is new once it was gathered for long enough.
func (c *Courier) tellPending(ctx context.Context, news []approval.Item) error {
	now := c.o.Now()
	if len(news) == 0 {
		c.fresh = time.Time{}
		return nil
	}
	if c.fresh.IsZero() || c.fresh.After(now) { // a clock that was set back begins again
		c.fresh = now
	}
	if now.Before(c.fresh.Add(c.channel.Batch)) || !c.isFree(now) {
		return nil
	}
	if !c.deliver(ctx, newMessage(KindPending, c.channel.Name, c.o.PublicURL, news, now)) {
		return nil
	}
	c.fresh = time.Time{}
	c.setWaiting(c.alerts)
	ids := make([]string, len(news))
	for i, it := range news {
		ids[i] = it.ID
		c.told[it.ID] = true
	}
	return c.rows.add(ctx, ids, now)
}

// tellDecided forgets approvals that wait no more, and tells how they ended where the channel
// wants it. What ended long ago and is forgotten is told to no channel.
func (c *Courier) tellDecided(ctx context.Context, left []string) error {
	now := c.o.Now()
	if len(left) == 0 || c.channel.Decided && !c.isFree(now) {
		return nil
	}
	ended, over, err := c.readEnded(ctx, left, now)
	if err != nil || len(over) == 0 {
		return err
	}
	if c.channel.Decided && len(ended) > 0 && !c.deliver(ctx, newMessage(KindDecided, c.channel.Name, c.o.PublicURL, ended, now)) {
		return nil
	}
	for _, id := range over {
		delete(c.told, id)
	}
	return c.rows.remove(ctx, over)
}

// readEnded returns which approvals wait no more, and those of them that are still known, the
// oldest first. A list has an end, so one that is not on it may wait all the same.
func (c *Courier) readEnded(ctx context.Context, ids []string, now time.Time) (ended []approval.Item, over []string, err error) {
	for _, id := range ids {
		it, err := approval.Get(ctx, c.o.Store.Reader(), id, now)
		switch {
		case errors.Is(err, approval.ErrUnknown): // purged, or forgotten
			over = append(over, id)
		case err != nil:
			return nil, nil, err
		case it.State != approval.StatePending:
			over, ended = append(over, id), append(ended, it)
		}
	}
	sortByAsked(ended)
	return ended, over, nil
}

// isFree reports whether the channel may be sent something now. A clock that was set back
// by more than any pause does not block it.
func (c *Courier) isFree(now time.Time) bool {
	return !now.Before(c.blocked) || now.Add(longestWish+c.channel.Throttle).Before(c.blocked)
}

// deliver sends a message and reports whether it arrived. What failed is logged when it begins
// to fail, and not at each try.
func (c *Courier) deliver(ctx context.Context, m Message) bool {
	err := c.send(ctx, m)
	now := c.o.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		if c.status.Failures > 0 {
			c.o.Log.Info("The channel works again.", "channel", c.channel.Name, "failures", c.status.Failures)
		}
		c.status.Failures, c.status.Problem, c.status.Sent = 0, "", now
		c.blocked = now.Add(c.channel.Throttle)
		return true
	}
	if ctx.Err() != nil {
		return false
	}
	pause := retries.Pause(c.status.Failures)
	var why *SendError
	if errors.As(err, &why) {
		pause = max(pause, why.RetryAfter)
		if why.Refused {
			pause = max(pause, retries.Longest)
		}
	}
	if c.status.Failures == 0 {
		c.o.Log.Warn("The channel takes no messages; approvals wait as before, and it is tried again.",
			"channel", c.channel.Name, "reason", err.Error())
	}
	c.status.Failures++
	c.status.Problem = err.Error()
	c.blocked = now.Add(pause)
	return false
}

// send calls the notifier, which is bounded in time and may panic.
func (c *Courier) send(ctx context.Context, m Message) (err error) {
	defer func() {
		if r := recover(); r != nil { // its value may be anything
			err = &SendError{Reason: "the notifier panicked"}
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, 2*sendTime)
	defer cancel()
	err = c.channel.Notifier.Send(ctx, m)
	var why *SendError
	if err != nil && !errors.As(err, &why) { // its words may hold an address
		err = &SendError{Reason: fmt.Sprintf("the notifier failed with %T", err)}
	}
	return err
}

func (c *Courier) setWaiting(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Waiting = n
}
