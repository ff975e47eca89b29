package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// webhookSecret begins a secret of a webhook; base64 of 24 to 64 bytes follows.
const webhookSecret = "whsec_"

// Webhook posts messages as JSON, signed as Standard Webhooks says: the headers webhook-id,
// webhook-timestamp and webhook-signature, where each signature is HMAC-SHA256 over id, time
// and body, joined by dots.
type Webhook struct {
	URL string
	// Secrets sign each message, one signature each, so that a receiver can go over to a new
	// one. At least one; each is whsec_ and base64 of 24 to 64 bytes.
	Secrets []string
	// TLS is nil, or how the receiver's certificate is checked.
	TLS *tls.Config
}

type webhook struct {
	*poster
	keys [][]byte
}

// NewWebhook checks the settings. The errors hold no secret.
func NewWebhook(w Webhook) (Notifier, error) {
	p, err := newPoster(w.URL, w.TLS)
	if err != nil {
		return nil, err
	}
	out := &webhook{poster: p}
	for _, s := range w.Secrets {
		text, ok := strings.CutPrefix(s, webhookSecret)
		key, err := base64.StdEncoding.DecodeString(text)
		if !ok || err != nil || len(key) < 24 || len(key) > 64 {
			return nil, errors.New(`a webhook's secret is "whsec_" and base64 of 24 to 64 bytes; make one with: ` +
				`echo "whsec_$(head -c 32 /dev/urandom | base64)"`)
		}
		out.keys = append(out.keys, key)
	}
	if len(out.keys) == 0 {
		return nil, errors.New("a webhook needs a secret, so that its receiver can tell whose messages they are")
	}
	return out, nil
}

// Send implements Notifier.
func (w *webhook) Send(ctx context.Context, m Message) error {
	body, err := json.Marshal(struct {
		Kind Kind      `json:"type"`
		At   time.Time `json:"timestamp"`
		Data Message   `json:"data"`
	}{m.Kind, m.At, m})
	if err != nil {
		return &SendError{Reason: "the message can't be written as JSON", Refused: true}
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	return w.post(ctx, body, map[string]string{
		"webhook-id": m.ID, "webhook-timestamp": at, "webhook-signature": w.sign(m.ID, at, body),
	})
}

// sign returns a signature for each secret, separated by spaces.
func (w *webhook) sign(id, at string, body []byte) string {
	out := make([]string, len(w.keys))
	for i, key := range w.keys {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(id + "." + at + "."))
		h.Write(body)
		out[i] = "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil))
	}
	return strings.Join(out, " ")
}
