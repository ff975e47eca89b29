// Package formats lists the wire formats of the proxy, with where each is served and which upstreams speak it.
//
// The package isn't stable: docs/api.md lists those that are.
package formats

import (
	"net/http"
	"strings"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/proxy/wire"
	"github.com/vedette-dev/vedette/orchestrator/proxy/wire/chat"
	"github.com/vedette-dev/vedette/orchestrator/proxy/wire/messages"
	"github.com/vedette-dev/vedette/orchestrator/proxy/wire/responses"
)

// Form is a format and where it is served.
type Form struct {
	wire.Format
	// Name stands in metrics; the paths of the door begin with Door.
	Name, Door string
	// Upstreams returns the servers that speak it, and Base is what their addresses lack.
	Upstreams func(config.Proxy) []config.ProxyUpstream
	Base      string

	keyHeader string // carries the upstream's key
}

// The formats that there are.
var (
	Chat      = &Form{chat.Format{}, "chat", "/proxy/openai/v1", openaiUpstreams, "", "Authorization"}
	Responses = &Form{responses.Format{}, "responses", "/proxy/openai/v1", openaiUpstreams, "", "Authorization"}
	Messages  = &Form{messages.Format{}, "messages", "/proxy/anthropic/v1", anthropicUpstreams, "/v1", "X-Api-Key"}
)

func openaiUpstreams(p config.Proxy) []config.ProxyUpstream { return p.OpenAI }

func anthropicUpstreams(p config.Proxy) []config.ProxyUpstream { return p.Anthropic }

// Of returns the form in which errors at a path are told.
func Of(path string) *Form {
	if strings.HasPrefix(path, Messages.Door) {
		return Messages
	}
	return Chat
}

// SetKey sets the upstream's key, in place of every other.
func (f *Form) SetKey(h http.Header, key string) {
	h.Del("Authorization")
	h.Del("X-Api-Key")
	if key == "" {
		return
	}
	if f.keyHeader == "Authorization" {
		key = "Bearer " + key
	}
	h.Set(f.keyHeader, key)
}
