package command

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/eval"
)

// results writes the file of results; without a name it writes nothing. A row is
// in the file before the next one is begun, so that a run that is killed loses
// none but the last.
//
// What the run was is in a manifest beside it, FILE.manifest.json. It is not in
// the rows: others read them, each row would carry the same, and a run without
// rows would have none. The manifest is written before the first row and the
// file emptied before the manifest, so rows never stand beside a manifest that
// isn't theirs.
type results struct {
	f       *os.File
	name    string
	earlier *eval.Earlier // nil for a run that begins
	rows    []eval.Row    // those that it is made of
	taken   takenOut
}

// manifest is what decides about the results of a run. Format is 1.
type manifest struct {
	Format int `json:"format"`
	// Policy is the configuration's digest.
	Policy   string `json:"policy"`
	Grants   string `json:"grants"`
	NoReview bool   `json:"no_review"`
	// Answers is the digest of the file of answers; empty where models were
	// asked.
	Answers string `json:"answers"`
	// Build is the program's: another one may decide otherwise. Where no revision
	// says which it is, it holds the digest of the program.
	Build string `json:"build"`
}

func runManifest(cfg *config.Config, f evalFlags, a answered) (manifest, error) {
	if f.results == "" {
		return manifest{}, nil
	}
	info, ok := debug.ReadBuildInfo()
	exe, err := os.Executable()
	if err != nil {
		return manifest{}, err
	}
	name, err := buildName(readBuild(info, ok), exe)
	return manifest{1, cfg.Digest(), f.grants, f.noReview, a.digest, name}, err
}

// differs says in words what two runs don't have in common.
func (m manifest) differs(o manifest) []string {
	var out []string
	add := func(differ bool, format string, args ...any) {
		if differ {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	add(m.Format != o.Format, "the format (%d, now %d)", m.Format, o.Format)
	add(m.Policy != o.Policy, "the configuration (policy %.19s, now %.19s)", m.Policy, o.Policy)
	add(m.Grants != o.Grants, "--grants (%s, now %s)", m.Grants, o.Grants)
	add(m.NoReview != o.NoReview, "--no-review (%t, now %t)", m.NoReview, o.NoReview)
	add(m.Answers != o.Answers, "--answers")
	add(m.Build != o.Build, "the build of vedette (%s, now %s)", m.Build, o.Build)
	return out
}

func manifestName(name string) string { return name + ".manifest.json" }

// openResults begins a file of results, or goes on with it.
func openResults(f evalFlags, m manifest) (*results, error) {
	if f.results == "" {
		return &results{}, nil
	}
	if f.resume {
		r, err := goOnWith(f.results, m)
		if err == nil && r != nil && f.retry {
			err = r.retry()
		}
		if r != nil || err != nil {
			return r, err
		}
	}
	// A pipe or a terminal can't be gone on with.
	if info, err := os.Stat(f.results); err == nil && !info.Mode().IsRegular() {
		file, err := streamOut("--results", f.results)
		if err != nil {
			return nil, err
		}
		return &results{f: file, name: f.results}, nil
	}
	file, err := only(f.results)
	if err != nil {
		return nil, err
	}
	if err := empty(file, f, m); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &results{f: file, name: f.results}, nil
}

// empty makes a file of results that this run alone writes one of this run. What
// may fail comes first: a run that can't begin takes no rows of another with it.
func empty(file *os.File, f evalFlags, m manifest) error {
	// This run checks again, now that the lock keeps other runs from writing the file.
	if err := mayBegin(f); err != nil {
		return err
	}
	next, err := m.prepare(manifestName(f.results))
	if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return errors.Join(fmt.Errorf("%s can't be emptied: %w", f.results, cause(err)), os.Remove(next))
	}
	return replace(next, manifestName(f.results))
}

// goOnWith opens the results of the same run. Nil without an error means that
// there are none.
func goOnWith(name string, m manifest) (*results, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil, nil
	}
	refuse := func(format string, args ...any) error {
		return &failure{
			exitFailed, fmt.Errorf("%s can't be resumed: "+format, append([]any{name}, args...)...),
			"name another file with --results, or leave out --resume to begin again",
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s can't be read: %w", name, cause(err))
	case !info.Mode().IsRegular():
		return nil, refuse("it is no regular file")
	}
	b, err := readRegular(manifestName(name))
	var was manifest
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse("there is no %s beside it that says which run it is of", filepath.Base(manifestName(name)))
	case err != nil && !errors.Is(err, errNotRegular):
		return nil, fmt.Errorf("%s can't be read: %w", manifestName(name), cause(err))
	case errors.Is(err, errNotRegular), json.Unmarshal(b, &was) != nil:
		return nil, refuse("%s is no manifest that eval wrote", filepath.Base(manifestName(name)))
	}
	if diff := was.differs(m); len(diff) > 0 {
		return nil, refuse("it is of another run; what differs: %s", strings.Join(diff, ", "))
	}
	file, err := only(name)
	if err != nil {
		return nil, err
	}
	rows, err := eval.ReadRows(file)
	if err != nil {
		return nil, errors.Join(refuse("%w", err), file.Close())
	}
	// What a killed run left of its last line goes.
	if err := errors.Join(file.Truncate(rows.Whole), seek(file, rows.Whole)); err != nil {
		return nil, errors.Join(fmt.Errorf("%s can't be written: %w", name, cause(err)), file.Close())
	}
	return &results{f: file, name: name, earlier: eval.NewEarlier(rows.List), rows: rows.List}, nil
}

func seek(f *os.File, to int64) error {
	_, err := f.Seek(to, io.SeekStart)
	return err
}

// write writes a row at once. What is there already, and what has no decision,
// is left out.
func (r *results) write(res eval.Result) error {
	if r.f == nil || res.Unanswered || r.earlier.Has(res) {
		return nil
	}
	r.earlier.NoteNew(res)
	r.taken.done(res)
	if err := writeLine(r.f, res.LabelledJSON()); err != nil {
		r.taken = takenOut{} // behind half a row nothing may stand
		return r.unwritten(err)
	}
	return nil
}

// unwritten is the failure of a row that could not be written, as on a full disk.
func (r *results) unwritten(err error) error {
	hint := ""
	if info, serr := r.f.Stat(); serr == nil && info.Mode().IsRegular() {
		hint = "the rows before it are kept; once the file can be written, run it again with --resume to go on"
	}
	return &failure{exitFailed, fmt.Errorf("%s can't be written: %w", r.name, cause(err)), hint}
}

func (r *results) close() error {
	if r.f == nil {
		return nil
	}
	return errors.Join(r.putBack(), r.f.Close())
}

// prepare writes the manifest beside the file that it is to replace, and returns
// where.
func (m manifest) prepare(name string) (string, error) {
	if info, err := os.Lstat(name); err == nil && info.IsDir() {
		return "", fmt.Errorf("%s can't be written: it is a folder", name)
	}
	var b bytes.Buffer
	if err := writeJSON(&b, m, false); err != nil {
		return "", err
	}
	next, err := beside(name)
	if err != nil {
		return "", err
	}
	_, err = next.Write(b.Bytes())
	if err = errors.Join(err, next.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("%s can't be written: %w", next.Name(), cause(err)), os.Remove(next.Name()))
	}
	return next.Name(), nil
}

// replace puts a file in the place of another.
func replace(next, name string) error {
	if err := os.Rename(next, name); err != nil {
		return errors.Join(fmt.Errorf("%s can't be written: %w", name, cause(err)), os.Remove(next))
	}
	return nil
}

// private empties a file, or makes it, for its owner alone: what eval writes may
// quote values.
func private(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s can't be written: %w", name, cause(err))
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("%s is open to others: %w", name, cause(err)), f.Close())
		}
	}
	return f, nil
}

// readResults reads the results of an earlier run.
func readResults(name string) ([]eval.Row, error) {
	var rows eval.Rows
	err := reading(name, "name the results of an earlier run with --against FILE", func(f *os.File) (err error) {
		rows, err = eval.ReadRows(f)
		return err
	})
	return rows.List, err
}

func readAnswers(name string) (answered, error) {
	var a answered
	err := reading(name, "name the file of answers with --answers FILE", func(f *os.File) (err error) {
		h := sha256.New()
		a.byKey, err = eval.ReadAnswers(io.TeeReader(f, h))
		a.digest = "sha256:" + hex.EncodeToString(h.Sum(nil))
		return err
	})
	return a, err
}

// reading opens a file and has it read.
func reading(name, hint string, read func(*os.File) error) error {
	if err := readable(name, hint); err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s can't be read: %w", name, cause(err))
	}
	defer func() { _ = f.Close() }() // it was only read
	if err := read(f); err != nil {
		return fmt.Errorf("%s, %w", name, cause(err))
	}
	return nil
}
