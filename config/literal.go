package config

import "strings"

// Literal reports whether a secret stands in the file itself at a configuration
// path such as models.fast.api_key: it, or a default that was used for it. What
// the environment gave doesn't, whatever other text of the file is like it. Of an
// address it is the password that counts.
func (c *Config) Literal(path string) bool {
	n, _ := c.where.find(path)
	if n == nil || n.kind != scalarNode || n.text == "" {
		return false
	}
	written := n.raw
	if written == "" || !n.outside {
		written = n.text // nothing of it is the environment's
	}
	if _, after, isAddress := strings.Cut(written, "://"); isAddress {
		return password(after) != ""
	}
	return !n.outside
}

// password is what is written of a password in what follows an address's scheme,
// without the references in it.
func password(address string) string {
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
