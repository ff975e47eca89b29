package http

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-dev/vedette/skills/internal/decode"
)

// listPlaceNames returns the names in a URL's `{name}` places; ok is false where the
// braces don't pair.
func listPlaceNames(raw string) (names []string, ok bool) {
	for {
		i := strings.IndexAny(raw, "{}")
		if i < 0 {
			return names, true
		}
		end := strings.IndexAny(raw[i+1:], "{}")
		if raw[i] == '}' || end <= 0 || raw[i+1+end] == '{' {
			return nil, false
		}
		names = append(names, raw[i+1:i+1+end])
		raw = raw[i+end+2:]
	}
}

// fillURL returns the URL of one call. Each value stays inside its own segment of
// the path. Errors wrap skills.ErrNoEffect and name the argument alone.
func fillURL(raw string, query []string, args map[string]any) (*url.URL, error) {
	names, _ := listPlaceNames(raw)
	for _, n := range names {
		v, ok := formatValue(args[n])
		switch {
		case !ok || v == "":
			return nil, decode.Refuse("argument %q is needed in the path, as a text or a number", n)
		case climbsPath(v):
			return nil, decode.Refuse("argument %q would leave its place in the path", n)
		}
		raw = strings.Replace(raw, "{"+n+"}", url.PathEscape(v), 1)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, decode.Refuse("the arguments make no URL")
	}
	if len(query) == 0 {
		return u, nil
	}
	q := u.Query()
	for _, n := range query {
		list, isList := args[n].([]any)
		if !isList {
			list = []any{args[n]}
		}
		for _, e := range list {
			if e == nil {
				continue
			}
			v, ok := formatValue(e)
			if !ok {
				return nil, decode.Refuse("argument %q is no text, number or list of them", n)
			}
			q.Add(n, v)
		}
	}
	u.RawQuery = q.Encode()
	return u, nil
}

// climbsPath reports whether a server that decodes a value early would take it for another
// path. Many decode it before they split the path.
func climbsPath(v string) bool {
	if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return true
	}
	// A second decoding is common as well.
	for range 3 {
		parts := strings.FieldsFunc(v, func(r rune) bool { return r == '/' || r == '\\' })
		if slices.ContainsFunc(parts, func(p string) bool {
			p, _, _ = strings.Cut(p, ";") // path parameters: "..;x" is ".." to some servers
			return p == "." || p == ".."
		}) {
			return true
		}
		next, err := url.PathUnescape(v)
		if err != nil || next == v {
			return false
		}
		v = next
	}
	return true
}

func formatValue(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

func parseArguments(raw string) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(raw)))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, decode.Refuse("the arguments are not an object")
	}
	return m, nil
}
