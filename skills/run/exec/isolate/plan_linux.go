package isolate

import (
	"github.com/vedette-dev/vedette/skills/run/exec/egress/listen"
	"github.com/vedette-dev/vedette/skills/run/exec/snapshot/mount"
)

// ChildName is argv[0] of this binary when it is started as the child.
const ChildName = "vedette-exec-child"

// The child's files, beside the program's standard ones.
const (
	planFile = 3
	lineFile = 4
)

// Stage is where the new root is put together. It is a mount point in the
// child's own mount namespace alone.
const Stage = "/tmp"

// Plan is what the child is told. It travels in a memory file, so that the
// child's environment and arguments stay clean.
type Plan struct {
	// Path, Argv, Env and Dir are the program's.
	Path      string
	Argv, Env []string
	Dir       string
	// Read and Write are the paths that stay reachable, besides the system's own.
	Read, Write []string
	// Real says where each of Read and Write led when the operator's configuration was
	// read. A program that plants a link later doesn't change what they name.
	Real map[string]string
	// Home is the private home folder, absolute and clean; only with Tree. If
	// empty, there is none. All other paths are absolute and clean too.
	Home string
	// Files are made in the tree: an absolute path and its content; only with Tree.
	Files map[string]string
	// Tree asks for a root of its own that holds the declared paths alone.
	Tree bool
	// OwnPIDs asks for a process namespace with a PID 1 that reaps.
	OwnPIDs bool
	// OwnNet says that the child is in a network namespace of its own.
	OwnNet bool
	// Network lets Landlock allow TCP, and keeps the system's resolver files.
	Network bool
	// Proc says how much of /proc the program sees.
	Proc ProcView
	// Egress asks for what listens in the network namespace; only with Tree and OwnNet.
	Egress *listen.Plan `json:",omitempty"`
	// Snapshot names the write roots that are overlays; the others are the folders
	// themselves. The child keeps the capabilities that an overlay needs until it is mounted.
	Snapshot *mount.Plan `json:",omitempty"`
	// Filter is the seccomp filter, as the kernel reads it.
	Filter []byte
	// Limits are the program's resource limits.
	Limits []Limit
	// Numbers bounds the process numbers that the process namespace gives out, which root
	// can't pass either. It needs OwnPIDs and Linux 6.14. 0 is no bound.
	Numbers int64
}

// ProcView is how much of /proc a program sees.
type ProcView uint8

// The views of /proc.
const (
	ProcOwn   ProcView = iota // with Tree its own processes alone; without it nothing
	ProcWhole                 // with Tree all of a /proc of its own, read-only
	ProcHost                  // without Tree the system's, which interpreters need under landlock-strict
)

// Limit is one resource limit: a number of RLIMIT_… and its value, soft and hard.
type Limit struct {
	Resource int
	Value    uint64
}
