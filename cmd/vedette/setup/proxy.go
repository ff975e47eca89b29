package setup

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "embed" // for proxy.yaml

	"github.com/vedette-dev/vedette/orchestrator/proxy/report"
	"github.com/vedette-dev/vedette/orchestrator/records"
)

// ReadProxyReport says what the proxy would have stopped since a time.
func ReadProxyReport(ctx context.Context, src records.Source, since time.Time) (*report.Report, error) {
	return report.Read(ctx, src, report.Options{Since: since})
}

//go:embed proxy.yaml
var proxyText string

// ProxyFlags are what vedette proxy is told on its command line.
type ProxyFlags struct {
	// Upstreams are addresses, each with openai= or anthropic= before it where it is for one of both.
	Upstreams []string
	Listen    string
	Mode      string
	// State is the folder of the configuration, the database and the keys.
	State string
}

// The addresses of the providers themselves.
const (
	openaiAddress    = "https://api.openai.com/v1"
	anthropicAddress = "https://api.anthropic.com"
)

// ErrUpstream says that an upstream's address is none.
var ErrUpstream = errors.New("an upstream must be an address such as https://api.openai.com/v1, with openai= or anthropic= " +
	"before it if need be")

// WriteProxyConfig writes the configuration of a proxy for this machine, and returns its file.
func WriteProxyConfig(f ProxyFlags) (file string, err error) {
	text, err := ProxyConfig(f)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(f.State, 0o700); err != nil {
		return "", fmt.Errorf("the folder %s can't be made: %w", f.State, err)
	}
	file = filepath.Join(f.State, "proxy.yaml")
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// ProxyConfig returns the configuration of a proxy for this machine.
func ProxyConfig(f ProxyFlags) (string, error) {
	if len(f.Upstreams) == 0 {
		f.Upstreams = []string{"openai=" + openaiAddress, "anthropic=" + anthropicAddress}
	}
	var openai, anthropic []string
	for _, u := range f.Upstreams {
		a, b, err := readUpstream(u)
		if err != nil {
			return "", err
		}
		openai, anthropic = appendText(openai, a), appendText(anthropic, b)
	}
	return fmt.Sprintf(proxyText, f.Listen, f.Mode, writeUpstreams("openai", openai)+writeUpstreams("anthropic", anthropic)), nil
}

func appendText(list []string, text string) []string {
	if text == "" {
		return list
	}
	return append(list, text)
}

// writeUpstreams writes a list of addresses, nothing where there are none.
func writeUpstreams(key string, list []string) string {
	if len(list) == 0 {
		return ""
	}
	entries := make([]string, len(list))
	for i, u := range list {
		entries[i] = fmt.Sprintf("{url: %q}", u)
	}
	return "  " + key + ": [" + strings.Join(entries, ", ") + "]\n"
}

// readUpstream returns the addresses that an upstream has for clients of OpenAI and of Anthropic. One that isn't said to
// be for one of both is for both, unless it is Anthropic's own.
func readUpstream(text string) (openai, anthropic string, err error) {
	kind, address, said := strings.Cut(text, "=")
	if !said || kind != "openai" && kind != "anthropic" {
		kind, address = "", text
	}
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Hostname() == "", u.Scheme != "http" && u.Scheme != "https", u.User != nil, u.RawQuery != "", u.Fragment != "",
		strings.ContainsAny(address, "\"\\${}\n\r%"):
		return "", "", ErrUpstream
	}
	address = strings.TrimRight(address, "/")
	base := strings.TrimSuffix(address, "/v1")
	switch {
	case kind == "openai":
		return address, "", nil
	case kind == "anthropic", strings.HasSuffix(u.Hostname(), "anthropic.com"):
		return "", base, nil
	case strings.HasSuffix(u.Hostname(), "openai.com"):
		return base + "/v1", "", nil
	case base == address && strings.Trim(u.Path, "/") != "":
		return address, base, nil
	}
	return base + "/v1", base, nil
}
