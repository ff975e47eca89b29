package store

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const mountEnv = "VEDETTE_STORE_MOUNT"

// fillFileSystem is TestFileSystem in namespaces of its own, where it may mount.
func fillFileSystem(t *testing.T, dir string) {
	require.NoError(t, unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"))
	s := open(t, Options{Path: filepath.Join(dir, "x.db")})
	require.NoError(t, s.Submit(t.Context(), put("a")))
	refused := func(what string) {
		for range 3 {
			err := s.Submit(t.Context(), put(what+strings.Repeat("x", 300<<10)))
			require.ErrorIs(t, err, ErrUnavailable, what)
		}
	}
	ballast := filepath.Join(dir, "ballast")
	err := os.WriteFile(ballast, bytes.Repeat([]byte{1}, 2<<20), 0o600)
	require.ErrorIs(t, err, syscall.ENOSPC)
	refused("full")

	// The files, which the writer has to open again, under a mount that may only
	// be read; room is made behind it.
	under, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, under.Close()) }()
	require.NoError(t, unix.Mount(dir, dir, "", unix.MS_BIND, ""))
	require.NoError(t, unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	require.NoError(t, under.Remove("ballast"))
	require.ErrorIs(t, os.WriteFile(ballast, nil, 0o600), syscall.EROFS)
	for range 3 {
		err := s.Submit(t.Context(), put("read only"))
		require.ErrorIs(t, err, ErrUnavailable)
	}
	require.Equal(t, []string{"a"}, items(t, s))
	_, err = Open(t.Context(), Options{Path: filepath.Join(dir, "other.db")}) // at a start it is told, and nothing is made
	require.ErrorIs(t, err, syscall.EROFS)
	require.NoFileExists(t, filepath.Join(dir, "other.db"))
	require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH))
	require.NoError(t, s.Submit(t.Context(), put("b")), "it may be written to again")
	require.Equal(t, []string{"a", "b"}, items(t, s))
}

// A file system that is full, or that may only be read, makes the store refuse
// submissions. The store takes them again once there is room, or writing is
// allowed.
func TestFileSystem(t *testing.T) {
	if dir := os.Getenv(mountEnv); dir != "" {
		fillFileSystem(t, dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFileSystem$")
	cmd.Env = append(os.Environ(), mountEnv+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
