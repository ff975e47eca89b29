package config

import "time"

// NotifyChannel is a place outside that is told of questions in the inbox. It has one of SMTP,
// Slack, Teams and Webhook.
type NotifyChannel struct {
	// Name names the channel in the database and the log.
	Name string `yaml:"name" cfg:"required,pattern=id"`
	// Skills are skills' names, "domain.*" or "*"; none is every skill.
	Skills []string `yaml:"skills" cfg:"nonempty"`
	// Batch is how long new questions are gathered before a message is sent.
	Batch time.Duration `yaml:"batch" cfg:"min=1s,max=1h"`
	// Throttle is the least time between two messages.
	Throttle time.Duration `yaml:"throttle" cfg:"min=1s,max=24h"`
	// Decided sends a message too when questions that were told of wait no more.
	Decided bool          `yaml:"decided"`
	SMTP    NotifySMTP    `yaml:"smtp"`
	Slack   NotifyURL     `yaml:"slack"`
	Teams   NotifyURL     `yaml:"teams"`
	Webhook NotifyWebhook `yaml:"webhook"`
}

// NotifySMTP is a mail server and who gets its mail.
type NotifySMTP struct {
	Host     string   `yaml:"host" cfg:"required"`
	Port     int      `yaml:"port" cfg:"min=1,max=65535"`
	TLS      string   `yaml:"tls" cfg:"enum=starttls|tls|none"`
	Username string   `yaml:"username"`
	Password Secret   `yaml:"password"`
	From     string   `yaml:"from" cfg:"required"`
	To       []string `yaml:"to" cfg:"required,single"`
}

// NotifyURL is an address that is all that posting there takes.
type NotifyURL struct {
	URL Secret `yaml:"url" cfg:"required"`
}

// NotifyWebhook is a receiver of signed messages.
type NotifyWebhook struct {
	URL Secret `yaml:"url" cfg:"required"`
	// Secrets sign each message; several let a receiver go over to a new one.
	Secrets []Secret `yaml:"secrets" cfg:"required,single"`
}

func (n *NotifyChannel) setDefaults() {
	*n = NotifyChannel{Batch: 5 * time.Second, Throttle: 30 * time.Second}
}

// notifyKinds are the keys of which a channel has one.
var notifyKinds = []string{"smtp", "slack", "teams", "webhook"}
