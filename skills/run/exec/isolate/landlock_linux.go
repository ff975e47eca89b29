package isolate

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// FirstABIWithTruncate is the Landlock version that can refuse truncation.
const FirstABIWithTruncate = 3

// FirstABIWithTCP is the Landlock version that can refuse TCP.
const FirstABIWithTCP = 4

// FirstABIWithScope is the version that can refuse signals and abstract sockets.
const FirstABIWithScope = 6

const (
	filesOnly  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	readRights = filesOnly | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// Device nodes aside: no program needs to make those.
	writeFile   = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	writeRights = writeFile | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
)

// LandlockABI returns the version that the kernel has, 0 for none.
func LandlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// handledRights returns all that a Landlock version can refuse. What is named here and not
// allowed by a rule is refused.
func handledRights(abi int, network bool) unix.LandlockRulesetAttr {
	a := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_REFER - 1} // the thirteen of version 1
	for _, v := range []struct {
		since  int
		rights uint64
	}{{2, unix.LANDLOCK_ACCESS_FS_REFER}, {3, unix.LANDLOCK_ACCESS_FS_TRUNCATE}, {5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{9, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX}} {
		if abi >= v.since {
			a.Handled_access_fs |= v.rights
		}
	}
	if abi >= FirstABIWithTCP && !network {
		a.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		if abi >= 10 {
			a.Handled_access_net |= unix.LANDLOCK_ACCESS_NET_BIND_UDP | unix.LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP
		}
	}
	if abi >= FirstABIWithScope {
		a.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return a
}

// ruleset is a Landlock rule set that isn't applied yet.
type ruleset struct {
	fd    int
	known uint64 // the rights that it handles
}

// makeRuleset returns the rules as far as the kernel's version goes. prefix is
// where the tree is being put together.
func makeRuleset(p *Plan, rules []rule, prefix string) (ruleset, error) {
	abi := LandlockABI()
	if abi == 0 {
		return ruleset{}, unix.ENOSYS
	}
	// In a network namespace with a tree the program reaches only itself and the
	// listeners that were made for it.
	attr := handledRights(abi, p.Network || p.OwnNet && p.Tree)
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return ruleset{}, fmt.Errorf("make a Landlock ruleset: %w", errno)
	}
	set := ruleset{fd: int(fd), known: attr.Handled_access_fs}
	for _, r := range p.landlockRules(rules) {
		err := set.allowPath(r, prefix, rightsForRule(r))
		if r.own && errors.Is(err, unix.ENOENT) {
			continue // what the operator declared lies on top of it
		}
		if err != nil {
			return set, err
		}
	}
	if !p.Tree {
		return set, nil
	}
	// All that the tree holds was declared, so its folders may be listed.
	return set, set.allowPath(rule{}, prefix, unix.LANDLOCK_ACCESS_FS_READ_DIR)
}

func rightsForRule(r rule) uint64 {
	switch {
	case r.dir && r.write:
		return readRights | writeRights
	case r.dir:
		return readRights
	case r.write:
		return filesOnly | writeFile
	}
	return filesOnly
}

func (s ruleset) allowPath(r rule, prefix string, rights uint64) error {
	fd, err := openRulePlace(r, prefix)
	if err != nil {
		return fmt.Errorf("open a path to allow: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights & s.known, Parent_fd: int32(fd)} //nolint:gosec // files have small numbers
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(s.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("allow a path: %w", errno)
	}
	return nil
}

// errNoFilter is a plan without a filter: there is none for this machine.
var errNoFilter = errors.New("there is no seccomp filter for this kind of processor")
