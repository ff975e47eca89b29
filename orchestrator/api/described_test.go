package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The description of an operation whose handler reads bytes names the schema of its body.
func TestRawBodiesAreDescribed(t *testing.T) {
	h := open(t, changes{})
	var doc struct {
		Paths map[string]struct {
			Post struct {
				RequestBody struct {
					Required bool
					Content  map[string]struct {
						Schema map[string]any
					}
				}
			}
		}
	}
	h.must("", "GET", "/openapi.json", nil, &doc)
	for path, schema := range map[string]string{"/v1/calls": "CallBody", "/v1/check": "CheckBody"} {
		body := doc.Paths[path].Post.RequestBody
		require.True(t, body.Required, path)
		require.Len(t, body.Content, 1, path)
		require.Equal(t, map[string]any{"$ref": "#/components/schemas/" + schema}, body.Content["application/json"].Schema)
	}
	require.Contains(t, string(h.must("", "GET", "/docs", nil, nil).body), "granted_skills")
}
