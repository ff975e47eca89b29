package egress

import (
	"bufio"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// maxHead bounds the request line and headers of a request to the proxy.
const maxHead = 64 << 10

// head is the beginning of a connection to the proxy.
type head struct {
	request *http.Request
	ahead   *bufio.Reader     // what follows it
	source  *io.LimitedReader // where ahead reads from
}

// readRequestHead reads one request. The program wrote it, so it is bounded.
func readRequestHead(r io.Reader) (head, error) {
	h := head{source: &io.LimitedReader{R: r, N: maxHead}}
	h.ahead = bufio.NewReader(h.source)
	var err error
	if h.request, err = http.ReadRequest(h.ahead); err != nil {
		return head{}, errBadRequest
	}
	return h, nil
}

// continueFrom lets the body, and what follows, be read from r without a bound.
func (h head) continueFrom(r io.Reader) { h.source.R, h.source.N = r, math.MaxInt64 }

var errBadRequest = errors.New("the request can't be read")

// wantsTunnel reports whether the request asks for a connection and not for an answer.
func (h head) wantsTunnel() bool { return h.request.Method == http.MethodConnect }

// readHostPort returns what the request asks for: CONNECT names it, and an address in
// full names it where the answer is asked for.
func (h head) readHostPort() (host string, port uint16, err error) {
	r := h.request
	var digits string
	switch {
	case h.wantsTunnel():
		if r.ContentLength > 0 || len(r.TransferEncoding) > 0 {
			return "", 0, errBadRequest
		}
		if host, digits, err = net.SplitHostPort(r.RequestURI); err != nil {
			return "", 0, errBadRequest
		}
	case r.URL.Scheme != "http" || r.URL.Host == "" || r.URL.Opaque != "" || r.ProtoMajor != 1 || r.ProtoMinor != 1:
		return "", 0, errBadRequest
	default:
		if host, digits = r.URL.Hostname(), r.URL.Port(); digits == "" {
			digits = "80"
		}
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 || host == "" {
		return "", 0, errBadRequest
	}
	return host, uint16(n), nil
}

// findTarget returns what the policy lists for a host and port, or why it doesn't.
func (p *Policy) findTarget(host string, port uint16) (target, Outcome) {
	if a, err := netip.ParseAddr(host); err == nil {
		a = a.Unmap()
		return target{addr: a, port: port}, p.judgeAddress(a, port)
	}
	name := trimHostName(host)
	return target{name: name, port: port}, p.judgeName(name, port)
}

// hopHeaders are between the program and the proxy: no host sees them.
var hopHeaders = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Upgrade",
}

// makeForwardable makes of the request one for the host itself. It names the host that was
// checked, and the connection serves this request alone.
func (h head) makeForwardable() *http.Request {
	r := h.request
	for _, list := range r.Header["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			r.Header.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopHeaders {
		r.Header.Del(name)
	}
	r.Close = true
	if _, own := r.Header["User-Agent"]; !own {
		r.Header.Set("User-Agent", "") // none, where net/http would say its own
	}
	r.Host, r.URL.User = r.URL.Host, nil
	return r
}

// Answers of the proxy. They say what the operator can do, and nothing of the call.
const (
	answerConnected = "HTTP/1.1 200 Connection established\r\n\r\n"
	answerBad       = "the sandbox's proxy can't read this request"
	answerRefused   = "the sandbox refuses this host or port; an operator can list it under egress"
	answerFailed    = "the sandbox can't connect to this host"
)

// formatAnswer returns a whole answer with a status and a sentence.
func formatAnswer(status int, text string) string {
	return "HTTP/1.1 " + strconv.Itoa(status) + " " + http.StatusText(status) +
		"\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(text)+1) + "\r\n\r\n" + text + "\n"
}
