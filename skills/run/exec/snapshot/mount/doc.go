// Package mount puts an overlay over a folder in the child that becomes a program. The
// child runs it before most other packages are initialised, so it imports the standard
// library and the system calls alone.
//
// A mount namespace of its own is needed, and in its user namespace the capabilities
// SYS_ADMIN, DAC_OVERRIDE, FOWNER, CHOWN and FSETID: The kernel writes to the upper layer with
// those of the process that mounted it.
//
// The package isn't stable: docs/api.md lists those that are. Programs
// reach it through skills/run/exec.
package mount

// The names of the folders in a layer's folder for one root.
const (
	Upper = "upper" // what the program changed
	Work  = "work"  // the kernel's own
	Lower = "lower" // an empty folder, at which the root is bound while the overlay is made
)

// Root is one folder that becomes an overlay.
type Root struct {
	Path   string `json:"path"`   // absolute, without symbolic links
	At     string `json:"at"`     // the same as the caller wrote it
	Folder string `json:"folder"` // absolute; holds Upper, Work and Lower
	Dev    uint64 `json:"dev"`    // what Path must be
	Ino    uint64 `json:"ino"`
}

// Plan is what the child is told of the layer. It is plain JSON.
type Plan struct {
	Roots []Root `json:"roots"`
}

// Find returns the root that the caller wrote so.
func (p *Plan) Find(path string) (Root, bool) {
	if p == nil {
		return Root{}, false
	}
	for _, r := range p.Roots {
		if r.At == path {
			return r, true
		}
	}
	return Root{}, false
}
