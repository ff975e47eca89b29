package api_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var curlLine = regexp.MustCompile(`(?m)^\$ curl(?: -X (\w+))? \$V(\S+)(?: -d '(.*)')?$`)

// The requests of docs/http.md succeed, one after the other.
func TestHTTPPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/http.md")
	require.NoError(t, err)
	h := open(t, changes{rules: []map[string]any{says("hello", "Good day.")}})
	item, _ := h.ask("ann")
	known := map[string]string{"$APPROVAL": item.ID, "$DIGEST": item.Digest}
	lines := curlLine.FindAllStringSubmatch(string(page), -1)
	require.Len(t, lines, strings.Count(string(page), "$ curl"))
	for _, m := range lines {
		method, path, body := m[1], m[2], m[3]
		if method == "" {
			method = "GET"
		}
		for name, value := range known {
			path, body = strings.ReplaceAll(path, name, value), strings.ReplaceAll(body, name, value)
		}
		var in any
		if body != "" {
			in = body
		}
		var out struct{ ID string }
		r := h.must("ann", method, path, in, nil)
		if strings.HasSuffix(path, "/v1/calls") {
			r.into(t, &out)
			known["$CALL"] = out.ID
		}
	}
}
