package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A store is one database file at a time. When another file goes on in its place (Succeed), the file before it
// becomes an archive and stays where it is. The first is the path itself. Those that follow lie in a folder beside
// it: vedette.db, vedette.db.d/0002.db, vedette.db.d/0003.db. The one with the largest number is written to.

// nextSuffix ends the name of a file that is still being made. It is worth nothing before it has its real name.
const nextSuffix = ".next"

// maxFiles is how many files a store may have.
const maxFiles = 9999

// Folder is where the files of a store lie that follow the first.
func Folder(path string) string { return path + ".d" }

// NumberedFile is the n-th file of a store, counted from 1.
func NumberedFile(path string, n int) string {
	if n <= 1 {
		return path
	}
	return filepath.Join(Folder(path), fmt.Sprintf("%04d.db", n))
}

// FindFiles returns the files of a store that are there, the newest first, with their numbers. Files of a number in
// between may have been moved elsewhere.
func FindFiles(path string) ([]File, error) {
	entries, err := os.ReadDir(Folder(path))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("folder of the database: %w", err)
	}
	var out []File
	for i := len(entries) - 1; i >= 0; i-- { // in the order of names, which is that of numbers
		digits, ok := strings.CutSuffix(entries[i].Name(), ".db")
		n, err := strconv.Atoi(digits)
		if ok && err == nil && n > 1 && filepath.Base(NumberedFile(path, n)) == entries[i].Name() {
			out = append(out, File{n, NumberedFile(path, n)})
		}
	}
	if _, err := os.Stat(path); err == nil {
		out = append(out, File{1, path})
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("database file: %w", err)
	}
	return out, nil
}

// File is one of the files of a store.
type File struct {
	Number int
	Path   string
}

// FindNewest returns the file of a store that is written to. ErrNoFile: there is none.
func FindNewest(path string) (File, error) {
	list, err := FindFiles(path)
	if err != nil {
		return File{}, err
	}
	if len(list) == 0 {
		return File{}, fmt.Errorf("%w: %s", ErrNoFile, path)
	}
	return list[0], nil
}

// removeUnfinished removes what a killed process left of a file that never became one.
func removeUnfinished(path string) error {
	entries, err := os.ReadDir(Folder(path))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("folder of the database: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if name, _, ok := strings.Cut(e.Name(), nextSuffix); ok && strings.HasSuffix(name, ".db") {
			errs = append(errs, os.Remove(filepath.Join(Folder(path), e.Name())))
		}
	}
	return errors.Join(errs...)
}
