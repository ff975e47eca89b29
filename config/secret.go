package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/vedette-dev/vedette/internal/scrub"
)

// redacted stands for a secret wherever one would be printed.
const redacted = "[redacted]"

// Secret is a text that prints as "[redacted]", whatever prints it: fmt with any
// verb, slog, encoding/json. Its zero value is no secret.
//
// The text is behind a pointer: fmt can't call methods on a value in an unexported
// field. Of a pointer there it prints an address.
type Secret struct{ text *string }

// NewSecret returns s as a Secret; an empty s is none.
func NewSecret(s string) Secret {
	if s == "" {
		return Secret{}
	}
	return Secret{&s}
}

// IsSet reports whether there is a secret.
func (s Secret) IsSet() bool { return s.text != nil }

// Reveal returns the text itself, empty if there is none. Hand it to the code
// that needs it and to nothing that writes.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String returns "[redacted]", or nothing where no secret is set.
func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return redacted
}

// Format implements fmt.Formatter: a verb that doesn't fit a text would print
// it unredacted otherwise.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText writes what String returns.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue returns what String returns.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// String describes the model without its key.
func (m Model) String() string {
	key := "none"
	if m.APIKey.IsSet() {
		key = redacted
	}
	return fmt.Sprintf("model %q: %q at %s, api_key %s", m.Name, m.Model, safeURL(m.BaseURL), key)
}

// Format writes what String returns, whatever the verb.
func (m Model) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, m.String()) }

// MarshalJSON writes the model without its key and without a password in its
// address.
func (m Model) MarshalJSON() ([]byte, error) {
	type plain Model // without the method
	p := plain(m)
	p.BaseURL = safeURL(m.BaseURL)
	return json.Marshal(p)
}

// LogValue describes the model for slog without its key.
func (m Model) LogValue() slog.Value {
	return slog.GroupValue(slog.String("name", m.Name), slog.String("model", m.Model),
		slog.String("base_url", safeURL(m.BaseURL)), slog.Bool("api_key_set", m.APIKey.IsSet()))
}

// safeURL is scrub.Address in words, also where there is none.
func safeURL(raw string) string {
	if shown, ok := scrub.Address(raw); ok {
		return shown
	}
	return "an invalid address"
}

// String says which configuration it is, without any of its values.
func (c Config) String() string {
	name := c.File
	if name == "" {
		name = "the defaults"
	}
	return fmt.Sprintf("%s: %d models, %d skills, %d rules, %s",
		name, len(c.Models), len(c.Skills), len(c.Permissions), c.Digest())
}

// Format writes what String returns, whatever the verb.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// LogValue describes the configuration for slog without any of its values.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(slog.String("file", c.File), slog.String("digest", c.Digest()),
		slog.Int("models", len(c.Models)), slog.Int("skills", len(c.Skills)), slog.Int("rules", len(c.Permissions)))
}

// CredentialFolders returns the folders of credentials in files: no call may name
// them.
func (c *Config) CredentialFolders() []string {
	var out []string
	for _, cred := range c.Credentials {
		if cred.File != "" {
			out = append(out, filepath.Dir(cred.File))
		}
	}
	return out
}

// Literal reports whether a secret stands in the file itself at a configuration
// path such as models.fast.api_key. A default that was used for it counts. What
// the environment gave doesn't, whatever other text of the file is like it. Of an
// address it is the password that counts.
func (c *Config) Literal(path string) bool {
	n, _ := c.where.findConfigPath(path)
	if n == nil || n.kind != scalarNode || n.text == "" {
		return false
	}
	written := n.raw
	if written == "" || !n.outside {
		written = n.text // nothing of it is the environment's
	}
	if _, after, isAddress := strings.Cut(written, "://"); isAddress {
		return passwordInAddress(after) != ""
	}
	return !n.outside
}

// passwordInAddress returns the password that an address holds as plain text, or "". The
// address has lost its scheme. References such as ${NAME} are no plain text.
func passwordInAddress(address string) string {
	end := strings.LastIndexByte(address, '@')
	if end < 0 {
		return ""
	}
	_, word, _ := strings.Cut(withoutReferences(address[:end]), ":")
	return word
}

// withoutReferences takes every ${NAME} and ${NAME:-default} out of a text.
func withoutReferences(s string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, "${")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		_, s, _ = strings.Cut(after, "}")
	}
}
