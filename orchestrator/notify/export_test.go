package notify

import "time"

// Sign signs as a webhook with these settings does.
func Sign(w Webhook, id, at string, body []byte) (string, error) {
	n, err := NewWebhook(w)
	if err != nil {
		return "", err
	}
	return n.(*webhook).sign(id, at, body), nil
}

func ParseRetryAfter(text string, now time.Time) time.Duration { return parseRetryAfter(text, now) }

func EscapeSlack(s string) string { return escapeSlack(s) }
