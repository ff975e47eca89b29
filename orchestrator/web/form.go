package web

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxForm is how many bytes a form has at most: arguments that are edited are the longest.
const maxForm = 1 << 20

// errForm refuses a form that none of our pages sends.
var errForm = errors.New("the form is not one of these pages'; open the page again and send it from there")

// errLongForm refuses a form that is too long.
var errLongForm = errors.New("the form has more than a megabyte; shorten what you wrote")

// readForm reads the form of a request: one value for each of the named fields, and no others.
func readForm(w http.ResponseWriter, r *http.Request, names ...string) (map[string]string, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" || len(r.Header.Values("Content-Type")) != 1 {
		return nil, errForm
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if long := (*http.MaxBytesError)(nil); errors.As(err, &long) {
		return nil, errLongForm
	}
	if err != nil {
		return nil, errForm
	}
	return parseForm(string(body), names...)
}

// parseForm reads a form: each field at most once, of the named ones alone, in UTF-8 without NUL. Line
// ends are as browsers send them, and come out as one line feed.
func parseForm(body string, names ...string) (map[string]string, error) {
	values, err := url.ParseQuery(body)
	if err != nil {
		return nil, errForm
	}
	out := map[string]string{}
	for name, list := range values {
		if len(list) != 1 || !slices.Contains(names, name) || !utf8.ValidString(list[0]) || strings.ContainsRune(list[0], 0) {
			return nil, errForm
		}
		out[name] = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(list[0])
	}
	return out, nil
}
