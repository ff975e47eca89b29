package snapshot

// The bounds of a layer where Options name none.
const (
	defaultChanges = 100_000
	defaultBytes   = 1 << 30
	defaultDepth   = 128
	maxPath        = 4000 // bytes of a path below its root; the kernel takes 4,095
	maxAttrs       = 64 << 10
	maxConflicts   = 1000
	maxRoots       = 64
	maxLabel       = 200
)

// Limits bound what is listed and committed. A zero stands for the default.
type Limits struct {
	Changes int   `json:"changes"` // paths, also those in folders that are removed; 100,000
	Bytes   int64 `json:"bytes"`   // of all files in the upper layer; 1 GiB
	Depth   int   `json:"depth"`   // of folders below a root; 128
}

func (l Limits) orDefaults() Limits {
	if l.Changes <= 0 {
		l.Changes = defaultChanges
	}
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	if l.Depth <= 0 {
		l.Depth = defaultDepth
	}
	return l
}

// Options say what a layer lies over.
type Options struct {
	// State is the folder in which layers live. Open makes it, of mode 0700.
	State string
	// Label is kept with the layer, to find again whose it is. At most 200 bytes of UTF-8.
	Label string
	// Roots are absolute folders, owned by this process's user, none in another and
	// none with the state folder in it.
	Roots  []string
	Limits Limits
	// LinkTargets are absolute folders outside of the roots to which committed links may lead.
	// A Python environment needs /usr. If empty, links stay in their root.
	LinkTargets []string
}

// CommitOptions say how to commit.
type CommitOptions struct {
	// LeaveRefused commits all but the changes that can't be committed, which stay
	// behind. If false, one of them refuses the whole commit.
	LeaveRefused bool
}

// Report is a commit that ended.
type Report struct {
	Digest  string // of the changes
	Written int    // paths that were made or changed
	Deleted int    // paths that were removed; a folder counts as one
	Left    int    // refused changes that were left behind
}

// State is how far a layer is.
type State string

// The states of a layer.
const (
	StateOpen      State = "open"      // no commit was begun
	StateBegun     State = "begun"     // a commit was begun and didn't end
	StateCommitted State = "committed" // all of it is in the roots
)
