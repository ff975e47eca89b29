package exec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// The child's report is readyMark, and after it a mark for what failed with its
// message. Its end closes when the child becomes the program, so readyMark
// alone means success, and nothing at all that the child was killed.
const (
	readyMark   = 'r'
	isolateMark = 'i'
	programMark = 'p'
)

// childFailed is the child's exit code when it did not become the program.
const childFailed = 126

func ownIDs() (uids, gids []syscall.SysProcIDMap) {
	return []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
		[]syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
}

// becomeProgram runs in the child and returns only where it failed. Capabilities
// belong to a thread, so all of it stays on the one that ends as the program.
func becomeProgram() {
	runtime.LockOSThread()
	order, report := os.NewFile(3, "plan"), os.NewFile(4, "report")
	unix.CloseOnExec(3)
	unix.CloseOnExec(4)
	if _, err := report.Write([]byte{readyMark}); err != nil {
		return
	}
	mark, err := isolateAndExec(order)
	_, _ = report.Write(append([]byte{mark}, err.Error()...))
}

// isolateAndExec only returns where something failed.
func isolateAndExec(order io.Reader) (mark byte, err error) {
	var p plan
	if err := json.NewDecoder(order).Decode(&p); err != nil {
		return isolateMark, errors.New("the plan can't be read")
	}
	// A core dump would hold arguments.
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return isolateMark, fmt.Errorf("set limits: %w", err)
	}
	rules := p.rules()
	if p.Mounts {
		if err := ownFiles(rules, p.Dir); err != nil {
			return isolateMark, err
		}
	}
	if err := unix.Chdir(p.Dir); err != nil {
		return programMark, fmt.Errorf("go to its working directory: %w", err)
	}
	if p.Landlock {
		if err := restrict(rules, p.Network); err != nil {
			return isolateMark, err
		}
	}
	if err := dropPrivileges(); err != nil {
		return isolateMark, err
	}
	return programMark, syscall.Exec(p.Path, p.Argv, p.Env)
}

// rule is one path that stays reachable.
type rule struct {
	path  string
	write bool
	dir   bool
}

// systemPaths are what programs need to run at all: programs, libraries and
// what the loader reads. None of it is a secret on any system we know.
func systemPaths(network bool) (read, write []string) {
	read = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/etc/ld.so.cache", "/etc/ld.so.conf",
		"/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/dev/random", "/dev/urandom", "/dev/zero"}
	if network {
		read = append(read, "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/gai.conf", "/etc/ssl/certs",
			"/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted")
	}
	return read, []string{"/dev/null", "/dev/full"}
}

// rules lists all that is reachable, parents before what is in them. A path
// that this system does not have is left out; the configured ones were looked
// up by New.
func (p *plan) rules() []rule {
	read, write := systemPaths(p.Network)
	read = slices.Concat(read, []string{p.Path}, p.Read)
	write = slices.Concat(write, p.Write)
	var out []rule
	add := func(paths []string, w bool) {
		for _, path := range paths {
			if st, err := os.Stat(path); err == nil {
				out = append(out, rule{path, w, st.IsDir()})
			}
		}
	}
	add(read, false)
	add(write, true)
	slices.SortStableFunc(out, func(a, b rule) int {
		switch {
		case a.path < b.path:
			return -1
		case a.path > b.path:
			return 1
		}
		return 0
	})
	return out
}

// dropPrivileges leaves nothing that a program started by root, or by the root
// of a user namespace, could use or get back by starting another.
func dropPrivileges() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		// Without CAP_SETPCAP this is refused; no_new_privs below then keeps
		// the bounding set from mattering.
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	var none [2]unix.CapUserData
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	return nil
}
