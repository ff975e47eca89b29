package access

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/orchestrator/problem"
)

// names are what the server is called, and whose pages may call it.
type names struct {
	hosts   map[string]bool // host, or host:port
	origins map[string]bool
}

// newNames reads hosts and origins.
func newNames(hosts, origins []string) (names, error) {
	n := names{map[string]bool{}, map[string]bool{}}
	var errs []error
	for _, h := range hosts {
		host, port, ok := splitHost(h)
		if !ok {
			errs = append(errs, fmt.Errorf("%q is no host: name one such as vedette.example.com or 127.0.0.1:8420", h))
			continue
		}
		n.hosts[joinHost(host, port)] = true
	}
	for _, o := range origins {
		origin, ok := readOrigin(o)
		if !ok {
			errs = append(errs, fmt.Errorf("%q is no origin: name one such as https://vedette.example.com", o))
			continue
		}
		n.origins[origin] = true
	}
	return n, errors.Join(errs...)
}

// splitHost reads a Host header: the host in small letters without a dot at its end, the port or
// nothing. It refuses what could be read in two ways.
func splitHost(text string) (host, port string, ok bool) {
	if text == "" || len(text) > 260 {
		return "", "", false
	}
	host = text
	if strings.HasPrefix(text, "[") || strings.Count(text, ":") == 1 {
		end := strings.LastIndexByte(text, ']')
		if colon := strings.LastIndexByte(text, ':'); colon > end {
			host, port = text[:colon], text[colon+1:]
			if !isPort(port) {
				return "", "", false
			}
		}
		if strings.HasPrefix(host, "[") {
			inner, closed := strings.CutSuffix(host[1:], "]")
			a, err := netip.ParseAddr(inner)
			if !closed || err != nil || !a.Is6() || a.Zone() != "" {
				return "", "", false
			}
			return a.String(), port, true
		}
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return a.String(), port, a.Zone() == ""
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host, port, isHostName(host)
}

// isPort reports whether a text is a port's number.
func isPort(text string) bool {
	return len(text) > 0 && len(text) <= 5 && strings.Trim(text, "0123456789") == ""
}

// isHostName reports whether a text is made of the characters of names.
func isHostName(text string) bool {
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return text != "" && !strings.Contains(text, "..") && text[0] != '.'
}

// joinHost is the form in which hosts are compared.
func joinHost(host, port string) string {
	if port == "" {
		return host
	}
	return net.JoinHostPort(host, port)
}

// readOrigin reads an Origin: scheme, host and port, nothing else.
func readOrigin(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.Opaque != "" ||
		(u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		return "", false
	}
	host, port, ok := splitHost(u.Host)
	if !ok {
		return "", false
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(host, port), true
}

// knowsHost reports whether the server is called that.
func (n names) knowsHost(text string) bool {
	host, port, ok := splitHost(text)
	return ok && (n.hosts[joinHost(host, port)] || n.hosts[host])
}

// knowsOrigin reports whether pages of the origin may call.
func (n names) knowsOrigin(text string) bool {
	o, ok := readOrigin(text)
	return ok && n.origins[o]
}

// checkPlace refuses a request to a foreign host, of a foreign origin, or with a token in its URL.
func (g *Guard) checkPlace(r *http.Request) *problem.Problem {
	if hasTokenInURL(r.URL) {
		return problem.New(problem.TokenInURL, "tokens belong into the Authorization header")
	}
	if !g.names.knowsHost(r.Host) {
		return problem.New(problem.ForeignHost, "the Host header names another server")
	}
	origins := r.Header.Values("Origin")
	if len(origins) > 1 || len(origins) == 1 && !g.names.knowsOrigin(origins[0]) {
		return problem.New(problem.ForeignOrigin, "the Origin header names another site")
	}
	return nil
}

// tokenParameters are the names under which programs put tokens into URLs.
var tokenParameters = []string{"access_token", "accesstoken", "api_key", "apikey", "auth", "authorization", "bearer", "token", "id_token"}

// hasTokenInURL reports whether a URL holds a token: a secret of ours anywhere, or a parameter of
// a token's name. What can't be read is searched as it is.
func hasTokenInURL(u *url.URL) bool {
	if u.User != nil || len(secretsIn(u)) > 0 {
		return true
	}
	for name := range u.Query() { // also of a query that is wrong in parts
		if slices.Contains(tokenParameters, strings.ReplaceAll(strings.ToLower(name), "-", "_")) {
			return true
		}
	}
	return false
}

// secretsIn returns what looks like secrets of ours in a URL.
func secretsIn(u *url.URL) (out []string) {
	texts := []string{u.Path, u.RawPath, u.RawQuery, u.Fragment, u.Opaque, u.Host}
	if plain, err := url.QueryUnescape(u.RawQuery); err == nil {
		texts = append(texts, plain)
	}
	for _, t := range texts {
		for rest := t; ; {
			_, after, ok := strings.Cut(rest, SecretPrefix)
			if !ok {
				break
			}
			if len(after) >= secretChars {
				out = append(out, SecretPrefix+after[:secretChars])
			}
			rest = after
		}
	}
	return out
}

// findTokenInURL returns the id of the token that stands in a URL, so that an operator can revoke it.
func (g *Guard) findTokenInURL(r *http.Request) string {
	if g.o.Tokens == nil {
		return ""
	}
	texts := secretsIn(r.URL)
	for _, list := range r.URL.Query() {
		texts = append(texts, list...)
	}
	for _, s := range texts {
		if id := g.o.Tokens.Known(s); id != "" {
			return id
		}
	}
	return ""
}
