package exec

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// stage is where the new root is put together. It is a mount point in our own
// mount namespace alone.
const stage = "/tmp"

// ownFiles makes a file system that holds the rules' paths and nothing else,
// and moves into it. It needs a mount namespace of its own.
func ownFiles(rules []rule, dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to ourselves: %w", err)
	}
	// All copies are taken before the stage hides what is below it.
	copies := make([]int, len(rules))
	for i, r := range rules {
		fd, err := copyOf(r)
		if err != nil {
			return err
		}
		copies[i] = fd
	}
	if err := unix.Mount("vedette", stage, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=16m,mode=0755"); err != nil {
		return fmt.Errorf("make a root: %w", err)
	}
	for i, r := range rules {
		if err := attach(copies[i], r); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(stage, dir), 0o755); err != nil {
		return fmt.Errorf("make the working directory: %w", err)
	}
	return enter()
}

// copyOf returns a detached copy of the mounts at a path, made read-only where
// the rule says so.
func copyOf(r rule) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, r.path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return 0, fmt.Errorf("copy a mount: %w", err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if !r.write {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return 0, fmt.Errorf("protect a mount: %w", err)
	}
	return fd, nil
}

// attach puts a copy where its path says, below the stage.
func attach(fd int, r rule) error {
	to := filepath.Join(stage, r.path)
	if err := makePlace(to, r.dir); err != nil {
		return err
	}
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, to, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("attach a mount: %w", err)
	}
	return unix.Close(fd)
}

func makePlace(to string, dir bool) error {
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	if dir {
		return os.MkdirAll(to, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// enter makes the stage the root, lets go of the old one and closes the new
// one to writing outside the rules.
func enter() error {
	if err := unix.Chdir(stage); err != nil {
		return fmt.Errorf("enter the root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("enter the root: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return fmt.Errorf("protect the root: %w", err)
	}
	return nil
}
