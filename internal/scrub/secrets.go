package scrub

import (
	"encoding/base64"
	"net/textproto"
	"net/url"
	"strings"
)

// plainHeaders hold what everybody may know.
var plainHeaders = map[string]bool{
	"Accept": true, "Accept-Charset": true, "Accept-Encoding": true, "Accept-Language": true, "Cache-Control": true,
	"Content-Language": true, "Content-Type": true, "Pragma": true, "Prefer": true, "User-Agent": true,
}

// OfHeader returns the secrets in a configured header: its value, and of an
// authorization and of cookies each part. A header that only says what a client
// takes, such as Accept and User-Agent, has none.
func OfHeader(name, value string) []string {
	name = textproto.CanonicalMIMEHeaderKey(name)
	if plainHeaders[name] {
		return nil
	}
	out := []string{value}
	switch name {
	case "Authorization", "Proxy-Authorization":
		scheme, rest, _ := strings.Cut(value, " ")
		if strings.EqualFold(scheme, "Basic") {
			if pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest)); err == nil {
				_, password, _ := strings.Cut(string(pair), ":")
				out = append(out, string(pair), password)
			}
		}
		return append(out, listLongParts(rest)...)
	case "Cookie":
		return append(out, listLongParts(value)...)
	}
	if _, rest, found := strings.Cut(value, " "); found {
		out = append(out, listLongParts(rest)...)
	}
	return out
}

// listLongParts returns the words and values of a header's value that are no mere
// names.
func listLongParts(value string) []string {
	var out []string
	for _, part := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" ,;\"", r) }) {
		_, after, found := strings.Cut(part, "=")
		if found && strings.Trim(after, "=") != "" {
			part = after
		}
		if len(part) >= MinLength {
			out = append(out, part)
		}
	}
	return out
}

// OfURL returns the secrets in a configured URL: what stands before its host, and
// the values of its query that Looks takes for secrets.
func OfURL(raw string) []string {
	u, err := url.Parse(raw)
	if err != nil {
		return nil
	}
	var out []string
	if u.User != nil {
		password, _ := u.User.Password()
		out = append(out, password, u.User.String())
	}
	for name, values := range u.Query() {
		for _, v := range values {
			if Looks(name, v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// Address returns scheme, host and path of an address: its user, its password and its query
// may be secret. ok is false where it can't be read.
func Address(raw string) (shown string, ok bool) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", false
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), true
}

// OfVariable returns the secrets in a variable that a program is given: its value
// where Looks takes it for one, and those of a URL.
func OfVariable(name, value string) []string {
	if Looks(name, value) {
		return append(OfURL(value), value)
	}
	return OfURL(value)
}

// secretWords are in the names of what is secret.
var secretWords = []string{
	"key", "token", "secret", "passw", "pwd", "auth", "cred", "cookie", "session", "private", "signature", "bearer", "dsn",
}

// Looks reports whether a named value is probably a secret: by a word in its
// name, or because it is 20 bytes or more of letters and digits without the look
// of a path, an address or a sentence.
func Looks(name, value string) bool {
	if len(value) < MinWord || value == "true" || value == "false" {
		return false
	}
	name = strings.ToLower(name)
	for _, w := range secretWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	return len(value) >= 20 && strings.ContainsAny(value, "0123456789") && !strings.ContainsAny(value, " /\\:@.,;")
}
