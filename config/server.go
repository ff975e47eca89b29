package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Server is the HTTP server of vedette serve.
type Server struct {
	// Listen is host:port. The default is reached from this machine alone.
	Listen string `yaml:"listen"`
	// PublicURL is the address by which people and programs reach it; empty is Listen's.
	PublicURL string `yaml:"public_url"`
	// Hosts are further names that a Host header may have.
	Hosts []string `yaml:"hosts" cfg:"nonempty"`
	// TLS are the files of its certificate.
	TLS ServerTLS `yaml:"tls"`
	// Proxies are the networks of proxies that end TLS before it.
	Proxies []string `yaml:"proxies" cfg:"nonempty"`
	// Metrics is who may read /metrics.
	Metrics string `yaml:"metrics" cfg:"enum=admin|loopback"`
	// Auth is who may call, besides the tokens of vedette token.
	Auth ServerAuth `yaml:"auth"`
	// Limits bound requests and connections.
	Limits ServerLimits `yaml:"limits"`
	// Chat is how chat interfaces are answered.
	Chat ServerChat `yaml:"chat"`
}

// ServerChat is how chat interfaces are answered, below /assistants/v1/.
type ServerChat struct {
	// Idle is how long after its last request a token goes on with its conversation, where the
	// request names none.
	Idle time.Duration `yaml:"idle" cfg:"min=1s,max=24h"`
	// Hold is how long an answer is held open while a person is asked.
	Hold time.Duration `yaml:"hold" cfg:"min=1s,max=1h"`
}

// MetricsOnLoopback is Server.Metrics where callers on this machine need no token.
const MetricsOnLoopback = "loopback"

// ServerTLS are the files of a certificate; both are read again when they change.
type ServerTLS struct {
	Cert string `yaml:"cert" cfg:"wanted"`
	Key  string `yaml:"key" cfg:"wanted"`
}

// ServerAuth is who may call.
type ServerAuth struct {
	OIDC ServerOIDC `yaml:"oidc"`
}

// ServerOIDC is an OpenID Connect issuer whose tokens count.
type ServerOIDC struct {
	Issuer      string   `yaml:"issuer" cfg:"wanted"`
	Audience    string   `yaml:"audience" cfg:"wanted"`
	UserClaim   string   `yaml:"user_claim"`
	ScopesClaim string   `yaml:"scopes_claim"`
	ScopePrefix string   `yaml:"scope_prefix"`
	Scopes      []string `yaml:"scopes" cfg:"nonempty,enum=chat|check|call|approve|review|values|label|admin|act_as"`
	GroupsClaim string   `yaml:"groups_claim"`
	// Groups are the scopes that groups give.
	Groups []ServerGroup `yaml:"groups" cfg:"nonempty"`
	// UserTurns is human where callers pass on what a person wrote.
	UserTurns string `yaml:"user_turns" cfg:"enum=human"`
	// PerMinute is how many requests a minute each user may send; 0 is the server's.
	PerMinute int `yaml:"per_minute" cfg:"min=1,max=1000000"`
	// SignIn is how people sign in to the pages there; without a client they paste a token.
	SignIn ServerSignIn `yaml:"sign_in"`
}

// ServerSignIn is this server as the issuer knows it, for people who sign in to the pages.
type ServerSignIn struct {
	ClientID string `yaml:"client_id" cfg:"wanted"`
	// ClientSecret proves that it is this server; or ClientSecretFile holds it. A public client has none.
	ClientSecret     Secret   `yaml:"client_secret"`
	ClientSecretFile string   `yaml:"client_secret_file"`
	Scopes           []string `yaml:"scopes" cfg:"nonempty"`
	// UserInfo asks the issuer for what its ID token lacks of user and groups.
	UserInfo bool `yaml:"user_info"`
	// SignOut signs people out at the issuer too.
	SignOut bool `yaml:"sign_out"`
	// Only lets no token sign in.
	Only bool `yaml:"only"`
}

// ServerGroup is a group of users and what its members may do.
type ServerGroup struct {
	Group  string   `yaml:"group" cfg:"required"`
	Scopes []string `yaml:"scopes" cfg:"required,nonempty,enum=chat|check|call|approve|review|values|label|admin|act_as"`
}

// ServerLimits bound requests and connections.
type ServerLimits struct {
	// PerMinute is how many requests a minute a token may send that has no limit of its own.
	PerMinute int `yaml:"per_minute" cfg:"min=1,max=1000000"`
	// Body is the greatest size of a request's body in bytes.
	Body int `yaml:"body" cfg:"min=1024,max=67108864"`
	// Connections are open at a time, and of one address.
	Connections           int `yaml:"connections" cfg:"min=1,max=1000000"`
	ConnectionsPerAddress int `yaml:"connections_per_address" cfg:"min=1,max=1000000"`
	// HeaderTimeout bounds the headers of a request, ReadTimeout all of it, IdleTimeout a connection
	// between two.
	HeaderTimeout time.Duration `yaml:"header_timeout" cfg:"min=100ms,max=5m"`
	ReadTimeout   time.Duration `yaml:"read_timeout" cfg:"min=100ms,max=1h"`
	IdleTimeout   time.Duration `yaml:"idle_timeout" cfg:"min=100ms,max=1h"`
	// Drain is how long work under way has when the server is told to end.
	Drain time.Duration `yaml:"drain" cfg:"min=100ms,max=1h"`
}

// serverDefaults returns the default of server.
func serverDefaults() Server {
	return Server{Listen: "127.0.0.1:8420", Metrics: "admin", Limits: ServerLimits{
		PerMinute: 600, Body: 1 << 20, Connections: 4096, ConnectionsPerAddress: 512,
		HeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, Drain: 30 * time.Second,
	}, Chat: ServerChat{Idle: 30 * time.Minute, Hold: 45 * time.Second}}
}

// IsLoopback reports whether the server is reached from this machine alone.
func (s Server) IsLoopback() bool {
	host, _, ok := listenAddress(s.Listen)
	return ok && isThisMachine(host)
}

// isThisMachine reports whether a host is reached from this machine alone.
func isThisMachine(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// ProxyNetworks returns Proxies as networks. An address stands for itself. The configuration was
// checked.
func (s Server) ProxyNetworks() (out []netip.Prefix) {
	for _, text := range s.Proxies {
		if p, ok := parseNetwork(text); ok {
			out = append(out, p)
		}
	}
	return out
}

// parseNetwork reads a network such as 10.0.0.0/8, or one address.
func parseNetwork(text string) (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(text); err == nil {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), a.Zone() == ""
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err == nil && p.Bits() > 0 // a network of everybody isn't a proxy
}

// publicURLMistake says what is wrong with the address of a server.
func publicURLMistake(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "" || u.Scheme != "http" && u.Scheme != "https":
		return "must be an address such as https://vedette.example.com"
	case !validTarget(u):
		return "must name a host, and a port from 1 to 65535 if any, such as https://vedette.example.com"
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return "must have no user, path, query or fragment, such as https://vedette.example.com"
	case u.Scheme == "http" && !isThisMachine(u.Hostname()):
		return "must begin with https://: tokens would go over the network in the open"
	}
	return ""
}

// listItems returns the items of a list, none where it is no list.
func listItems(n *node) []*node {
	if n == nil || n.kind != listNode {
		return nil
	}
	return n.items
}

// SecretFiles are files whose content is a secret of the program's own, besides the keys.
func (s Server) SecretFiles() []string {
	return slices.DeleteFunc([]string{s.TLS.Key, s.Auth.OIDC.SignIn.ClientSecretFile}, func(p string) bool { return p == "" })
}
