package assembly

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/alerts"
	"github.com/vedette-dev/vedette/orchestrator/notify"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// NewChannels makes the channels under approvals.notify. The error has its places in the file.
func NewChannels(cfg *config.Config) ([]notify.Channel, error) {
	list, err := newChannels(cfg)
	return list, cfg.Locate(err)
}

func newChannels(cfg *config.Config) ([]notify.Channel, error) {
	var out []notify.Channel
	var mistakes []error
	for i, c := range cfg.Approvals.Notify {
		n, at, err := newNotifier(c)
		if err != nil {
			mistakes = append(mistakes, &skills.PathError{Path: fmt.Sprintf("approvals.notify[%d].%s", i, at), Msg: err.Error()})
			continue
		}
		out = append(out, notify.Channel{
			Name: c.Name, Notifier: n, Skills: c.Skills, Batch: c.Batch, Throttle: c.Throttle, Decided: c.Decided,
		})
	}
	return out, errors.Join(mistakes...)
}

// newNotifier makes what a channel sends with. at is the key whose settings the error is about.
func newNotifier(c config.NotifyChannel) (n notify.Notifier, at string, err error) {
	switch {
	case c.Slack.URL.IsSet():
		n, err = notify.NewSlack(notify.Slack{URL: c.Slack.URL.Reveal()})
		return n, "slack.url", err
	case c.Teams.URL.IsSet():
		n, err = notify.NewTeams(notify.Teams{URL: c.Teams.URL.Reveal()})
		return n, "teams.url", err
	case c.Webhook.URL.IsSet():
		secrets := make([]string, len(c.Webhook.Secrets))
		for i, s := range c.Webhook.Secrets {
			secrets[i] = s.Reveal()
		}
		n, err = notify.NewWebhook(notify.Webhook{URL: c.Webhook.URL.Reveal(), Secrets: secrets})
		return n, "webhook", err
	}
	n, err = notify.NewSMTP(notify.SMTP{
		Host: c.SMTP.Host, Port: c.SMTP.Port, Encryption: c.SMTP.TLS, Username: c.SMTP.Username, Password: c.SMTP.Password.Reveal(),
		From: c.SMTP.From, To: c.SMTP.To,
	})
	return n, "smtp", err
}

// checkChannels finds the mistakes under approvals.notify.
func checkChannels(cfg *config.Config) error {
	_, err := newChannels(cfg)
	return err
}

// openCouriers opens a courier for each channel, where there is an inbox to tell of, or an alert.
func (p *Parts) openCouriers(ctx context.Context, o Options) error {
	if p.Inbox == nil && len(p.Config.Alerts) == 0 {
		return nil
	}
	list, err := NewChannels(p.Config)
	if err != nil {
		return err
	}
	if err := p.openAlerts(ctx, o, list); err != nil {
		return err
	}
	no := notify.Options{Store: p.Store, PublicURL: p.Config.Server.PublicURL, Now: o.Now, Log: o.Log}
	if p.Inbox != nil {
		no.Source = p.Inbox
	}
	if p.alerts != nil {
		no.Alerts = p.alerts.Outbox()
	}
	for _, ch := range list {
		c, err := notify.Open(ctx, no, ch)
		if err != nil {
			return err
		}
		p.couriers = append(p.couriers, c)
	}
	return nil
}

// fastSignatures is of how many heads one's signature is checked where an alert has the ledger verified, and that of
// the newest.
const fastSignatures = 1024

// openAlerts opens what watches the decision log, where there is a rule.
func (p *Parts) openAlerts(ctx context.Context, o Options, channels []notify.Channel) error {
	rules, err := newAlerts(p.Config)
	if err != nil {
		return p.Config.Locate(err)
	}
	if len(rules) == 0 {
		return nil
	}
	ao := alerts.Options{Store: p.Store, Ledger: p.Ledger, Failing: p.CanaryFailed, Verify: p.verifyLedger, Now: o.Now, Log: o.Log}
	for _, c := range channels {
		ao.Channels = append(ao.Channels, c.Name)
	}
	p.alerts, err = alerts.Open(ctx, ao, rules...)
	return err
}

// verifyLedger verifies the ledger beside what writes it.
func (p *Parts) verifyLedger(ctx context.Context) (ledger.Report, error) {
	return ledger.Verify(ctx, p.Config.Ledger.Path, ledger.VerifyOptions{
		PublicKey: p.Keys.LedgerPublic(), SignatureEvery: fastSignatures, SkipIndexes: true,
	})
}

// Channels says how the channels do that are told of questions, in the order of the configuration.
func (p *Parts) Channels() []notify.Status {
	out := make([]notify.Status, len(p.couriers))
	for i, c := range p.couriers {
		out[i] = c.Status()
	}
	return out
}

// ChannelTest is what became of a test message.
type ChannelTest struct {
	Channel   string `json:"channel"`
	Delivered bool   `json:"delivered"`
	// Problem is why it was not delivered.
	Problem string `json:"problem,omitempty"`
}

// TryChannels sends a test message to the channels that are named, or to all. The error is about
// the names.
func TryChannels(ctx context.Context, list []notify.Channel, names []string) ([]ChannelTest, error) {
	known := []string{}
	for _, c := range list {
		known = append(known, c.Name)
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("approvals.notify has no channel %q; it has %q", n, known)
		}
	}
	out := []ChannelTest{}
	for _, c := range list {
		if len(names) > 0 && !slices.Contains(names, c.Name) {
			continue
		}
		t := ChannelTest{Channel: c.Name, Delivered: true}
		if err := c.Notifier.Send(ctx, notify.NewTest("", time.Now())); err != nil {
			t.Delivered, t.Problem = false, err.Error()
		}
		out = append(out, t)
	}
	return out, nil
}
