package skills_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

// reach runs a Go skill of an effect within a perimeter.
func reach(t *testing.T, e skills.Effect, p skills.Perimeter, fn func(context.Context) error) error {
	t.Helper()
	sign, verify := pair(t)
	g, err := skills.Func(skills.Spec{Name: "test.do", Effect: e}, func(ctx context.Context, _ none) (string, error) { return "", fn(ctx) },
		skills.Within(p))
	require.NoError(t, err)
	got, declared := g.Perimeter()
	require.True(t, declared)
	require.Equal(t, p, got)
	o := order(g.Skill(), `{}`)
	w, err := sign.Issue(o.Digest())
	require.NoError(t, err)
	_, err = g.Executor(verify).Execute(t.Context(), w, o)
	return err
}

// A skill gets the folders that it declared, and can't leave them or write where it reads.
// They end with the call.
func TestFoldersOfAPerimeter(t *testing.T) {
	in, out, other := t.TempDir(), t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(in, "a"), []byte("text"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(other, "secret"), []byte("canary"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(other, "secret"), filepath.Join(in, "link")))
	var kept *os.Root
	err := reach(t, skills.Create, skills.Perimeter{Read: []string{in}, Write: []string{out}}, func(ctx context.Context) error {
		folder, err := skills.FolderFrom(ctx, in)
		require.NoError(t, err)
		b, err := fs.ReadFile(folder, "a")
		require.NoError(t, err)
		require.Equal(t, "text", string(b))
		_, err = fs.ReadFile(folder, "link")
		require.Error(t, err)
		_, err = skills.WritableFrom(ctx, in)
		require.ErrorIs(t, err, skills.ErrPerimeter)
		_, err = skills.FolderFrom(ctx, other)
		require.ErrorIs(t, err, skills.ErrPerimeter)
		_, err = skills.FolderFrom(ctx, filepath.Join(in, "..", filepath.Base(other)))
		require.ErrorIs(t, err, skills.ErrPerimeter)
		if kept, err = skills.WritableFrom(ctx, out); err != nil {
			return err
		}
		return kept.WriteFile("b", []byte("done"), 0o600)
	})
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(out, "b"))
	require.ErrorIs(t, kept.WriteFile("c", nil, 0o600), os.ErrClosed)
	_, err = skills.FolderFrom(t.Context(), in)
	require.ErrorIs(t, err, skills.ErrPerimeter)
}

// A skill reaches the hosts that it declared, redirects included, and one that
// reads changes nothing there.
func TestHostsOfAPerimeter(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") }))
	defer other.Close()
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; r.URL.Path == "/away" {
			http.Redirect(w, r, elsewhere, http.StatusFound)
		}
	}))
	defer srv.Close()
	p := skills.Perimeter{Hosts: []string{"127.0.0.1"}}
	send := func(e skills.Effect, method, url string) error {
		return reach(t, e, p, func(ctx context.Context) error {
			c, err := skills.ClientFrom(ctx)
			require.NoError(t, err)
			r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader("x"))
			require.NoError(t, err)
			resp, err := c.Do(r)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, resp.Body)
			return errors.Join(err, resp.Body.Close())
		})
	}
	require.NoError(t, send(skills.Read, "GET", srv.URL))
	require.NoError(t, send(skills.Read, "QUERY", srv.URL))
	require.NoError(t, send(skills.Create, "POST", srv.URL))
	require.Equal(t, 3, asked)
	for _, method := range []string{"POST", "PUT", "DELETE", "post", "OPTIONS"} {
		err := send(skills.Read, method, srv.URL)
		require.ErrorIs(t, err, skills.ErrPerimeter, method)
		require.ErrorIs(t, err, skills.ErrNoEffect)
	}
	require.ErrorIs(t, send(skills.Create, "POST", elsewhere), skills.ErrPerimeter)
	require.Equal(t, 3, asked)
	require.ErrorIs(t, send(skills.Read, "GET", srv.URL+"/away"), skills.ErrPerimeter)
	require.Equal(t, 4, asked)
	_, err := skills.ClientFrom(t.Context())
	require.ErrorIs(t, err, skills.ErrPerimeter)
}

// A perimeter that contradicts the effect, or that can't be held, is a mistake.
func TestBadPerimeters(t *testing.T) {
	do := func(context.Context, none) (string, error) { return "", nil }
	for _, p := range []skills.Perimeter{{Write: []string{"/srv"}}, {Read: []string{"srv"}}, {Read: []string{"/srv/../etc"}},
		{Hosts: []string{"*.example.com"}}, {Hosts: []string{"https://x.test"}}, {Hosts: []string{"Example.com"}}, {Hosts: []string{""}}} {
		_, err := skills.Func(skills.Spec{Name: "a.b", Effect: skills.Read}, do, skills.Within(p))
		require.Error(t, err, "%v", p)
	}
}
