package keys

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// maxFile is more than any key file has.
const maxFile = 4 << 10

// loadOrMake reads a secret file, or makes it when neither it nor its public half
// is there.
func (k *Keys) loadOrMake(name, public string, make func() ([]byte, error)) ([]byte, error) {
	path := k.filePath(name)
	b, err := readSecretFile(path)
	if !errors.Is(err, os.ErrNotExist) {
		return b, err
	}
	if public != "" {
		if _, err := os.Lstat(k.filePath(public)); !errors.Is(err, os.ErrNotExist) {
			// Another process may have made the pair since the first look.
			if b, err := readSecretFile(path); err == nil {
				return b, nil
			}
			return nil, fmt.Errorf("%w: %s is gone but %s is there: restore the key, or move %s away to begin with a new one",
				ErrKeys, path, k.filePath(public), public)
		}
	}
	b, err = make()
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", name, err)
	}
	err = createKeyFile(path, b, 0o600)
	if errors.Is(err, os.ErrExist) {
		return readSecretFile(path) // another process was faster: its key counts
	}
	return b, err
}

// writeOrCheckPublic writes the public half, or checks that the one there is the same.
func (k *Keys) writeOrCheckPublic(name string, want []byte) error {
	path := k.filePath(name)
	got, err := readPublicFile(path)
	if errors.Is(err, os.ErrNotExist) {
		if err = createKeyFile(path, want, 0o644); !errors.Is(err, os.ErrExist) {
			return err
		}
		got, err = readPublicFile(path)
	}
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%w: %s does not belong to the key beside it: restore the pair from a backup", ErrKeys, path)
	}
	return nil
}

// readSecretFile reads a file that no other user may read. The permissions are those of
// the open file, so they cannot change between the check and the reading.
func readSecretFile(path string) (_ []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is not a regular file", ErrKeys, path)
	}
	if perm := info.Mode().Perm(); runtime.GOOS != "windows" && perm&0o077 != 0 {
		return nil, fmt.Errorf("%w: %s has mode %04o, others can read it: replace the key if they may have, then chmod 600 %s",
			ErrKeys, path, perm, path)
	}
	return readAtMost(f, path)
}

// readPublicFile reads a file that others may read.
func readPublicFile(path string) (_ []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return readAtMost(f, path)
}

// readAtMost reads no more than any key file has.
func readAtMost(r io.Reader, path string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("%w: %s is larger than any key: restore it from a backup", ErrKeys, path)
	}
	return b, nil
}

// createKeyFile writes a new file whole or not at all, and never over another. It
// writes and syncs the file under a name of its own. A link gives it the real
// name: unlike a rename, a link fails when the name is taken.
func createKeyFile(path string, data []byte, mode os.FileMode) (err error) {
	tmp := path + ".new-" + rand.Text()
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return fmt.Errorf("create key file: %w", err)
	}
	defer func() {
		if rerr := os.Remove(tmp); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	if err := os.Link(tmp, path); err != nil {
		if errors.Is(err, os.ErrExist) {
			return err
		}
		if err := renameWithoutLink(tmp, path); err != nil {
			return err
		}
	}
	return syncFolder(filepath.Dir(path))
}

// renameWithoutLink is for file systems without links. Between the look and the rename
// another process could take the name; there is nothing better to be had there.
func renameWithoutLink(tmp, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return os.ErrExist
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("name key file: %w", err)
	}
	return nil
}

// syncFolder makes a new name in a folder durable.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // folders cannot be synced there
	}
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync key folder: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync key folder: %w", err)
	}
	return nil
}
