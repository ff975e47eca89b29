package snapshot

import (
	"path/filepath"
	"strconv"

	"github.com/vedette-dev/vedette/skills/run/exec/snapshot/mount"
)

// The names in a layer's folder. A root's own folder is its index.
const (
	metaName    = "layer.json"
	probeName   = "probe"
	journalName = "journal"
	doneName    = "done"
)

// rootMeta is a root as it was when the layer was opened.
type rootMeta struct {
	Path string `json:"path"`
	At   string `json:"at"` // as the caller wrote it
	Dev  uint64 `json:"dev"`
	Ino  uint64 `json:"ino"`
}

// meta is what a layer must know in another process.
type meta struct {
	Version     int        `json:"version"`
	Label       string     `json:"label,omitempty"`
	Roots       []rootMeta `json:"roots"`
	Limits      Limits     `json:"limits"`
	LinkTargets []string   `json:"link_targets,omitempty"`
	// Started is the probe file's change time in nanoseconds: what has a later one was
	// changed since.
	Started int64 `json:"started"`
	// Free is how many bytes the state's disk had left at the start; 0 if that isn't known.
	Free int64 `json:"free,omitempty"`
	// Boot and Offset find a clock that was set back. Boot is the id of the system's start,
	// and Offset the wall clock less the time since then.
	Boot   string `json:"boot"`
	Offset int64  `json:"offset"`
}

// Layer is the changes of one program to its roots, in a folder of their own. One
// process works on it at a time; its methods aren't for concurrent use.
type Layer struct {
	id     string
	folder string
	meta   meta
	// reach is called before each step of a commit that a kill could come between. Tests
	// alone set it.
	reach func(point string)
}

// ID names the layer in its state folder.
func (l *Layer) ID() string { return l.id }

// Label returns what Options called the layer.
func (l *Layer) Label() string { return l.meta.Label }

// Roots returns the absolute paths of the roots.
func (l *Layer) Roots() []string {
	out := make([]string, len(l.meta.Roots))
	for i, r := range l.meta.Roots {
		out[i] = r.Path
	}
	return out
}

// Mounts returns what the child needs to mount the overlays: see package mount.
func (l *Layer) Mounts() *mount.Plan {
	p := &mount.Plan{}
	for i, r := range l.meta.Roots {
		p.Roots = append(p.Roots, mount.Root{Path: r.Path, At: r.At, Folder: l.rootFolder(i), Dev: r.Dev, Ino: r.Ino})
	}
	return p
}

func (l *Layer) rootFolder(i int) string { return filepath.Join(l.folder, strconv.Itoa(i)) }

func (l *Layer) reachPoint(point string) {
	if l.reach != nil {
		l.reach(point)
	}
}

// Usage is what a layer takes on disk.
type Usage struct {
	Entries int
	Bytes   int64 // of disk, so that a sparse file counts as what it takes
}
