package http

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

// A skill that reads sends methods that read, unless its file says that the
// endpoint changes nothing.
func TestPerimeterOfAReader(t *testing.T) {
	kit := runtest.New(t)
	for method, reads := range map[string]bool{"GET": true, "HEAD": true, "QUERY": true, "": false, "POST": false, "PUT": false,
		"PATCH": false, "DELETE": false} {
		for _, effect := range skills.Effects() {
			for _, safe := range []bool{false, true} {
				o := opts{"url": "https://example.com/", "safe": safe}
				if method != "" {
					o["method"] = method
				}
				sp := spec(o)
				sp.Effect = effect
				_, err := New(runtest.Compile(t, sp, nil), kit.Redeemer, Options{})
				if effect == skills.Read && !reads && !safe {
					require.Equal(t, []string{"run.http.method"}, runtest.Paths(err), "%s %s", effect, method)
					require.ErrorContains(t, err, "the skill's effect is read")
					continue
				}
				require.NoError(t, err, "%s %s", effect, method)
			}
		}
	}
}

// No redirect is followed, so none changes method or host.
func TestRedirectStaysWithin(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/a" {
				http.Redirect(w, r, "/b", status)
				return
			}
			_, _ = io.WriteString(w, "followed")
		})
		_, err := run(t, s, opts{"url": s.at("/a")}, opts{})
		require.ErrorContains(t, err, "redirects are not followed")
		require.Len(t, s.arrived(), 1)
	}
}
