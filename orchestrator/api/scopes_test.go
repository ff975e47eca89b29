package api_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/access"
)

// scopesOf are the scopes of every operation. A new operation is entered here too.
var scopesOf = map[string]string{
	"create-conversation": "chat", "list-conversations": "chat", "show-conversation": "chat", "purge-conversation": "chat",
	"send-message": "chat", "list-messages": "chat", "show-request": "chat", "cancel-request": "chat", "follow-conversation": "chat",
	"purge-user":   "admin",
	"check":        "check",
	"propose-call": "call", "show-call": "call", "report-outcome": "call",
	"list-approvals": "approve", "show-approval": "approve", "answer-approval": "approve", "watch-approvals": "approve",
	"make-standing-approval": "approve", "list-standing-approvals": "approve", "revoke-standing-approval": "approve",
	"list-records": "review", "show-record": "review", "prove-record": "review", "show-head": "review",
	"show-story": "review", "read-values": "values", "list-policies": "review", "show-policy": "review",
	"put-label": "label", "list-labels": "label review", "list-disputes": "label review", "list-queue": "label",
	"process-text": "chat", "show-text": "chat", "confirm-intent": "chat", "decide-approval": "approve",
	"list-intents": "review", "show-intent": "review", "count-intents": "review",
	"process-text-document": "chat", "show-text-document": "chat", "confirm-intent-document": "chat", "decide-approval-document": "approve",
	"list-intents-document": "review", "show-intent-document": "review", "count-intents-document": "review",
	"show-approval-document": "approve",
	"list-pauses":            "admin review", "begin-pause": "admin", "lift-pause": "admin",
	"list-skills": "chat check call review admin",
}

// described is an operation as the description has it.
type described struct {
	OperationID string
	Description string
	Security    []map[string][]string
}

// Each operation lets in the tokens of its scopes, and no others. What there is comes from the
// description, so an operation that names no scope fails here.
func TestEveryScopeOfEveryOperation(t *testing.T) {
	h := open(t, changes{})
	for _, s := range access.Scopes() {
		w := access.Wanted{Name: "only-" + string(s), User: "ann", Scopes: []access.Scope{s}, UserTurns: access.UserTurnsHuman}
		made, err := h.all.Create(t.Context(), w, "local:test")
		require.NoError(t, err)
		h.tokens[w.Name] = made.Secret
	}
	var doc struct {
		Paths map[string]map[string]described
	}
	h.must("", "GET", "/openapi.json", nil, &doc)
	seen := map[string]bool{}
	for path, item := range doc.Paths {
		for method, op := range item {
			var want []string
			for _, one := range op.Security {
				require.Len(t, one["bearer"], 1, op.OperationID)
				want = append(want, one["bearer"]...)
				require.Contains(t, op.Description, "`"+one["bearer"][0]+"`", op.OperationID)
			}
			require.NotEmpty(t, want, "%s %s names no scope", method, path)
			require.Equal(t, scopesOf[op.OperationID], strings.Join(want, " "), op.OperationID)
			seen[op.OperationID] = true
			for _, s := range access.Scopes() {
				status, code := h.tryOperation("only-"+string(s), strings.ToUpper(method), path)
				if slices.Contains(want, string(s)) {
					require.NotEqual(t, "scope_missing", code, "%s with %s", op.OperationID, s)
					require.NotEqual(t, http.StatusUnauthorized, status, "%s with %s", op.OperationID, s)
					require.Less(t, status, 500, "%s with %s", op.OperationID, s)
					continue
				}
				require.Equal(t, http.StatusForbidden, status, "%s with %s", op.OperationID, s)
				require.Equal(t, "scope_missing", code, "%s with %s", op.OperationID, s)
			}
		}
	}
	require.Len(t, seen, len(scopesOf))
}

var parameter = regexp.MustCompile(`\{[a-z]+\}`)

// tryOperation calls an operation with a token, and returns how it was answered. A stream is left once it has
// begun.
func (h *house) tryOperation(who, method, path string) (status int, code string) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader("{}")
	}
	path = parameter.ReplaceAllString(strings.ReplaceAll(path, "{user}", "ann"), "none")
	r, err := http.NewRequestWithContext(ctx, method, h.server.URL+path, body)
	require.NoError(h.t, err)
	r.Header.Set("Authorization", "Bearer "+h.tokens[who])
	res, err := h.server.Client().Do(r)
	require.NoError(h.t, err)
	defer res.Body.Close() //nolint:errcheck // a stream ends here
	if res.Header.Get("Content-Type") == "application/problem+json" {
		var p struct{ Code string }
		require.NoError(h.t, json.NewDecoder(res.Body).Decode(&p))
		code = p.Code
	}
	return res.StatusCode, code
}
