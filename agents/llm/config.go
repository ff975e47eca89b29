package llm

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/scrub"
)

// Defaults that a zero field of Config stands for.
const (
	DefaultTimeout     = 60 * time.Second
	DefaultMaxResponse = 8 << 20
)

// EffortOmit as Config.Effort sends no reasoning_effort at all, so the server's
// own default applies.
const EffortOmit = "omit"

// The values of Config.Schemaless. Neither holds an answer to its schema: the
// caller must parse an answer as strictly as if no shape had been asked for.
const (
	// ViaTool sends the schema as the parameters of one tool of the schema's
	// name. The model is made to call it, so the answer is in ToolCalls.
	ViaTool = "tool"
	// ViaJSONObject sends response_format json_object, which promises JSON
	// and no shape: the schema isn't sent, so the messages must describe it.
	ViaJSONObject = "json_object"
)

// efforts are the values Config.Effort may have; empty means defaultEffort.
var efforts = []string{"", EffortOmit, "none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Config describes one model. The zero value of every field but Name, Model and
// BaseURL is useful. Printing or logging a Config hides the key.
type Config struct {
	// Name is what the configuration calls the model: letters, digits, '_', '-'.
	Name string
	// Model is what the server calls it, for example "gpt-5-mini".
	Model string
	// BaseURL is the address before "/chat/completions": absolute, http or
	// https, without user, query or fragment.
	BaseURL string
	// APIKey is sent as a bearer token. Empty sends no Authorization header.
	APIKey string `json:"-" yaml:"-"`
	// Timeout bounds one Chat, from the connection to the last byte of the
	// answer. Zero is DefaultTimeout.
	Timeout time.Duration
	// Reasoning marks a model that reasons before it answers: no temperature
	// is sent to it, and Effort is.
	Reasoning bool
	// Effort is the reasoning_effort of a Reasoning model. Empty is the lowest
	// that keeps reasoning on: "minimal" for gpt-5, gpt-5-mini and gpt-5-nano,
	// "low" for other gpt-5.x, gpt-6 and o-series models, nothing for names that
	// are not known. EffortOmit sends nothing.
	Effort string
	// Context is the size of the context window in tokens. Callers plan with it,
	// or doubt an answer that fills it. It is not enforced here; zero means not known.
	Context int
	// SupportsTools says whether Request.Tools may be used. Nil means yes;
	// false makes Chat refuse such a request before it is sent.
	SupportsTools *bool
	// Schemaless says how a Request.Schema is asked for where the server knows
	// no json_schema: ViaTool or ViaJSONObject. Empty is strict json_schema.
	Schemaless string
	// LegacyMaxTokens sends Request.MaxTokens as max_tokens, for servers that
	// do not know max_completion_tokens.
	LegacyMaxTokens bool
	// Unstreamed marks a server that can't stream: Request.Follow is told nothing.
	Unstreamed bool
	// MaxResponse bounds the answer's body in bytes. Zero is DefaultMaxResponse.
	MaxResponse int64
}

// PathError is a fault in a configuration, at the path of the key that holds it.
// Paths are models.fast.base_url or roles.sentinel[0], for example.
type PathError struct {
	Path string
	Msg  string
}

// Error returns the path and what is wrong there.
func (e *PathError) Error() string { return e.Path + ": " + e.Msg }

// ConfigPath returns the path, for a caller that knows the path's place in a file.
func (e *PathError) ConfigPath() string { return e.Path }

// ConfigMessage returns the message without the path.
func (e *PathError) ConfigMessage() string { return e.Msg }

// String describes the model without its key.
func (c Config) String() string {
	key := "none"
	if c.APIKey != "" {
		key = "redacted"
	}
	return fmt.Sprintf("llm.Config{name:%q model:%q base_url:%q api_key:%s}", c.Name, c.Model, safeURL(c.BaseURL), key)
}

// GoString is String, so that %#v hides the key as well.
func (c Config) GoString() string { return c.String() }

// LogValue describes the model for slog without its key.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(slog.String("name", c.Name), slog.String("model", c.Model),
		slog.String("base_url", safeURL(c.BaseURL)), slog.Bool("api_key_set", c.APIKey != ""))
}

// safeURL keeps scheme, host and path. A caller that reports a refused configuration
// prints the address, which may hold a password.
func safeURL(raw string) string {
	if shown, ok := scrub.Address(raw); ok {
		return shown
	}
	return "invalid"
}

// timeoutOrDefault returns Timeout, or its default.
func (c Config) timeoutOrDefault() time.Duration {
	if c.Timeout == 0 {
		return DefaultTimeout
	}
	return c.Timeout
}

// maxResponseOrDefault returns MaxResponse, or its default.
func (c Config) maxResponseOrDefault() int64 {
	if c.MaxResponse == 0 {
		return DefaultMaxResponse
	}
	return c.MaxResponse
}

// effortToSend returns the reasoning_effort to send, or empty for none.
func (c Config) effortToSend() string {
	switch {
	case !c.Reasoning || c.Effort == EffortOmit:
		return ""
	case c.Effort != "":
		return c.Effort
	}
	return defaultEffort(c.Model)
}

// defaultEffort returns the lowest effort that keeps reasoning on, by the name after a
// vendor prefix ("openai/gpt-5-mini"). Only the first gpt-5 models take "minimal";
// gpt-5.1 and later answer 400.
func defaultEffort(model string) string {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, m := range []string{"gpt-5", "gpt-5-mini", "gpt-5-nano"} {
		if rest, ok := strings.CutPrefix(name, m); ok && (rest == "" || isDateSuffix(rest)) {
			return "minimal"
		}
	}
	if strings.Contains(name, "-pro") || strings.HasPrefix(name, "o1-") {
		return "" // gpt-5-pro knows "high" alone, o1-mini and o1-preview know none
	}
	for _, p := range []string{"gpt-5", "gpt-6", "o1", "o3", "o4"} {
		if strings.HasPrefix(name, p) {
			return "low"
		}
	}
	return ""
}

// isDateSuffix reports whether s looks like "-2025-08-07".
func isDateSuffix(s string) bool {
	_, err := time.Parse("-2006-01-02", s)
	return err == nil
}

// validate returns every fault at once, as PathErrors below prefix.
func (c Config) validate(prefix string) error {
	var errs []error
	add := func(key, msg string) { errs = append(errs, &PathError{Path: prefix + "." + key, Msg: msg}) }
	if strings.TrimSpace(c.Model) == "" {
		add("model", "missing; give the name that the server uses for the model")
	}
	if msg := checkURL(c.BaseURL); msg != "" {
		add("base_url", msg)
	}
	if strings.ContainsAny(c.APIKey, "\r\n\x00") {
		add("api_key", "holds a line break; check how the key was read")
	}
	if c.Timeout < 0 {
		add("timeout", "is negative; leave it out for 60s")
	}
	if !slices.Contains(efforts, c.Effort) {
		add("effort", "is not known; use one of "+strings.Join(efforts[1:], ", "))
	} else if c.Effort != "" && !c.Reasoning {
		add("effort", "has no meaning without reasoning: true")
	}
	switch {
	case c.Schemaless != "" && c.Schemaless != ViaTool && c.Schemaless != ViaJSONObject:
		add("schemaless", "is not known; use tool or json_object, or leave it out for json_schema")
	case c.Schemaless == ViaTool && c.SupportsTools != nil && !*c.SupportsTools:
		add("schemaless", "is tool, and the model takes no tools; use json_object")
	}
	if c.Context < 0 {
		add("context", "is negative; leave it out when it is not known")
	}
	if c.MaxResponse < 0 {
		add("max_response", "is negative; leave it out for 8 MiB")
	}
	return errors.Join(errs...)
}

// checkURL returns what is wrong with a base URL, without repeating it: it may
// hold a password.
func checkURL(raw string) string {
	if raw == "" {
		return "missing; give an address such as https://api.openai.com/v1"
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Opaque != "" || u.Hostname() == "":
		return "is not an absolute address; write scheme, host and path"
	case u.Scheme != "http" && u.Scheme != "https":
		return "has another scheme than http or https"
	case u.User != nil:
		return "holds a user or password; use api_key"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "holds a query or a fragment; give the path alone"
	}
	return ""
}

// isValidName reports whether a model or role can be a step of a configuration path.
func isValidName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}) < 0
}
