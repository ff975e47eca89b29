package skills

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Perimeter is what a Go function may reach, as its author declares it. It is part
// of the skill's digest. The accessors of this package, FolderFrom, WritableFrom
// and ClientFrom, hold the function to it. What the function opens without them,
// nothing in this process can hold: there the perimeter is a promise, and code that
// isn't trusted belongs into an exec skill.
type Perimeter struct {
	// Read are absolute folders that it reads.
	Read []string `json:"read,omitempty"`
	// Write are absolute folders that it reads and writes. A skill whose effect
	// is read has none.
	Write []string `json:"write,omitempty"`
	// Hosts are the names or addresses, without port, that it sends requests to.
	Hosts []string `json:"hosts,omitempty"`
}

// ErrPerimeter means that a skill reached for what its perimeter doesn't hold.
// Nothing was done.
var ErrPerimeter = fmt.Errorf("out of the skill's perimeter: %w", ErrNoEffect)

// Within declares a Go function's perimeter.
func Within(p Perimeter) FuncOption {
	p = Perimeter{slices.Clone(p.Read), slices.Clone(p.Write), slices.Clone(p.Hosts)}
	return func(o *funcOptions) { o.Perimeter = &p }
}

// Perimeter returns what the function declared; ok is false where it declared
// nothing.
func (g *GoSkill) Perimeter() (p Perimeter, ok bool) {
	if g.options.Perimeter == nil {
		return Perimeter{}, false
	}
	own := *g.options.Perimeter
	return Perimeter{slices.Clone(own.Read), slices.Clone(own.Write), slices.Clone(own.Hosts)}, true
}

func (p *Perimeter) checkFor(e Effect) error {
	if p == nil {
		return nil
	}
	var errs []error
	if e == Read && len(p.Write) > 0 {
		errs = append(errs, &PathError{"effect", "is read, and the perimeter has folders that it writes; say create or more, or leave them out"})
	}
	for _, folder := range slices.Concat(p.Read, p.Write) {
		if !filepath.IsAbs(folder) || filepath.Clean(folder) != folder {
			errs = append(errs, &PathError{"run.perimeter", "has a folder that is no clean absolute path"})
		}
	}
	for _, h := range p.Hosts {
		if h == "" || strings.ContainsAny(h, "/@*? ") || h != strings.ToLower(h) {
			errs = append(errs, &PathError{"run.perimeter", "has a host that is no name in small letters without port, such as api.example.com"})
		}
	}
	return errors.Join(errs...)
}

// ReadsOnly reports whether an HTTP method asks for no change: GET, HEAD and QUERY.
func ReadsOnly(method string) bool {
	return method == "" || method == http.MethodGet || method == http.MethodHead || method == "QUERY"
}

// bounds are a perimeter in use by one run.
type bounds struct {
	perimeter Perimeter
	effect    Effect

	mu    sync.Mutex
	roots []*os.Root
}

type boundsKey struct{}

func boundsFrom(ctx context.Context) (*bounds, error) {
	b, ok := ctx.Value(boundsKey{}).(*bounds)
	if !ok {
		return nil, fmt.Errorf("%w: it declares none", ErrPerimeter)
	}
	return b, nil
}

func (b *bounds) openFolder(folder string) (*os.Root, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("%w: a folder of the perimeter can't be opened", ErrNoEffect)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.roots = append(b.roots, root)
	return root, nil
}

// close ends what the run opened.
func (b *bounds) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.roots {
		_ = r.Close() // it was only a handle
	}
	b.roots = nil
}

// FolderFrom returns a folder of a Go skill's perimeter for reading. No name and no
// link leads out of it. It is closed when the function returns. ErrPerimeter: the
// folder isn't declared.
func FolderFrom(ctx context.Context, folder string) (fs.FS, error) {
	b, err := boundsFrom(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(b.perimeter.Read, folder) && !slices.Contains(b.perimeter.Write, folder) {
		return nil, ErrPerimeter
	}
	root, err := b.openFolder(folder)
	if err != nil {
		return nil, err
	}
	return root.FS(), nil
}

// WritableFrom returns a folder of a Go skill's perimeter for writing. No name and
// no link leads out of it. It is closed when the function returns. ErrPerimeter:
// the folder isn't declared as one that is written.
func WritableFrom(ctx context.Context, folder string) (*os.Root, error) {
	b, err := boundsFrom(ctx)
	if err != nil {
		return nil, err
	}
	if b.effect == Read || !slices.Contains(b.perimeter.Write, folder) {
		return nil, ErrPerimeter
	}
	return b.openFolder(folder)
}

// ClientFrom returns a client that sends requests to the hosts of a Go skill's
// perimeter alone, redirects included. In a skill whose effect is read it sends
// GET, HEAD and QUERY alone. It doesn't judge addresses: declare no host whose name
// others control. ErrPerimeter: the skill declares no perimeter; a request beyond
// it fails with the same.
func ClientFrom(ctx context.Context) (*http.Client, error) {
	b, err := boundsFrom(ctx)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &fence{b, http.DefaultTransport}}, nil
}

// fence lets the requests of a perimeter through.
type fence struct {
	bounds *bounds
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (f *fence) RoundTrip(r *http.Request) (*http.Response, error) {
	beyond := f.bounds.effect == Read && !ReadsOnly(r.Method) || !slices.Contains(f.bounds.perimeter.Hosts, strings.ToLower(r.URL.Hostname()))
	if beyond {
		if r.Body != nil {
			_ = r.Body.Close() // a RoundTripper must
		}
		return nil, ErrPerimeter
	}
	return f.next.RoundTrip(r)
}
