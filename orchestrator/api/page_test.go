package api_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/access"
)

var (
	pageScopes = regexp.MustCompile(`--scope (\w+)`)
	pageAsks   = regexp.MustCompile(`(?m)^\$ (ask [^(].*)$`)
	pageShell  = regexp.MustCompile(`(?m)^\$ (ask\(\).*)$`)
)

// The commands of docs/http.md succeed as they stand, one after the other, in a shell with curl and with the token that the page
// makes.
func TestHTTPPage(t *testing.T) {
	raw, err := os.ReadFile("../../docs/http.md")
	require.NoError(t, err)
	page := string(raw)
	h := open(t, changes{rules: []map[string]any{says("hello", "Good day.")}})
	item, _ := h.ask("ann")
	wanted := access.Wanted{Name: "backend", User: "ann", UserTurns: access.UserTurnsHuman}
	for _, m := range pageScopes.FindAllStringSubmatch(page, -1) {
		wanted.Scopes = append(wanted.Scopes, access.Scope(m[1]))
	}
	made, err := h.all.Create(t.Context(), wanted, "local:test")
	require.NoError(t, err)
	known := []string{"V=" + h.server.URL, "TOKEN=" + made.Secret, "APPROVAL=" + item.ID, "DIGEST=" + item.Digest}
	shell := pageShell.FindStringSubmatch(page)
	require.NotNil(t, shell)
	lines := pageAsks.FindAllStringSubmatch(page, -1)
	require.Len(t, lines, strings.Count(page, "$ ask "))
	for _, m := range lines {
		// curl says with -f that the server refused
		script := "set -eu\ncurl() { command curl --fail-with-body \"$@\"; }\n" + shell[1] + "\n" + m[1] + "\n"
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", script)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), known...)
		out, err := cmd.Output()
		require.NoError(t, err, "%s: %s", m[1], out)
		if strings.Contains(m[1], "/v1/calls -d") {
			var proposed struct{ ID string }
			require.NoError(t, json.Unmarshal(out, &proposed), string(out))
			known = append(known, "CALL="+proposed.ID)
		}
	}
}
