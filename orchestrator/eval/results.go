package eval

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/internal/terminal"
)

// ResultsOptions say where rows are written, and what becomes of those that are there.
type ResultsOptions struct {
	// File gets the rows; empty writes none.
	File string
	// Resume keeps the rows and decides what is missing, RetryUnjudged also the cases
	// that no model was there for. Overwrite begins without the rows.
	Resume, RetryUnjudged, Overwrite bool
}

// resultsFile writes the file of results; without a name it writes nothing. A row is
// in the file before the next one is begun, so that a run that is killed loses
// none but the last.
//
// What the run was is in a manifest beside it, FILE.manifest.json. It is not in
// the rows: others read them, each row would carry the same, and a run without
// rows would have none. The manifest is written before the first row and the
// file emptied before the manifest, so rows never stand beside a manifest that
// isn't theirs.
type resultsFile struct {
	f       *os.File
	name    string
	earlier *Earlier // nil for a run that begins
	rows    []Row    // those that it is made of
	taken   takenOut
}

// openResults begins a file of results, or goes on with it.
func openResults(o ResultsOptions, m manifest) (*resultsFile, error) {
	if o.File == "" {
		return &resultsFile{}, nil
	}
	if o.Resume {
		r, err := resumeResults(o.File, m)
		if err == nil && r != nil && o.RetryUnjudged {
			err = r.takeOutUnjudged()
		}
		if r != nil || err != nil {
			return r, err
		}
	}
	// A pipe or a terminal can't be gone on with.
	if info, err := os.Stat(o.File); err == nil && !info.Mode().IsRegular() {
		file, err := openOutputStream("--results", o.File)
		if err != nil {
			return nil, err
		}
		return &resultsFile{f: file, name: o.File}, nil
	}
	file, err := openExclusively(o.File)
	if err != nil {
		return nil, err
	}
	if err := beginResults(file, o, m); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &resultsFile{f: file, name: o.File}, nil
}

// beginResults makes a file of results that this run alone writes one of this run. What
// may fail comes first: a run that can't begin takes no rows of another with it.
func beginResults(file *os.File, o ResultsOptions, m manifest) error {
	// This run checks again, now that the lock keeps other runs from writing the file.
	if err := checkMayBegin(o); err != nil {
		return err
	}
	next, err := m.writeBeside(manifestName(o.File))
	if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return errors.Join(fmt.Errorf("%s can't be emptied: %w", o.File, advice.CauseOf(err)), os.Remove(next))
	}
	return replaceFile(next, manifestName(o.File))
}

// resumeResults opens the results of the same run. Nil without an error means that
// there are none.
func resumeResults(name string, m manifest) (*resultsFile, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil, nil
	}
	refuse := func(format string, args ...any) error {
		return &advice.Error{
			Err:  fmt.Errorf("%s can't be resumed: "+format, append([]any{name}, args...)...),
			Todo: "name another file with --results, or leave out --resume to begin again",
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s can't be read: %w", name, advice.CauseOf(err))
	case !info.Mode().IsRegular():
		return nil, refuse("it is no regular file")
	}
	b, err := readRegular(manifestName(name))
	var was manifest
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse("there is no %s beside it that says which run it is of", filepath.Base(manifestName(name)))
	case err != nil && !errors.Is(err, errNotRegular):
		return nil, fmt.Errorf("%s can't be read: %w", manifestName(name), advice.CauseOf(err))
	case errors.Is(err, errNotRegular), json.Unmarshal(b, &was) != nil:
		return nil, refuse("%s is no manifest that eval wrote", filepath.Base(manifestName(name)))
	}
	if diff := was.listDifferences(m); len(diff) > 0 {
		return nil, refuse("it is of another run; what differs: %s", strings.Join(diff, ", "))
	}
	file, err := openExclusively(name)
	if err != nil {
		return nil, err
	}
	rows, err := ReadRows(file)
	if err != nil {
		return nil, errors.Join(refuse("%w", err), file.Close())
	}
	// What a killed run left of its last line goes.
	if err := errors.Join(file.Truncate(rows.Whole), seekTo(file, rows.Whole)); err != nil {
		return nil, errors.Join(fmt.Errorf("%s can't be written: %w", name, advice.CauseOf(err)), file.Close())
	}
	return &resultsFile{f: file, name: name, earlier: NewEarlier(rows.List), rows: rows.List}, nil
}

// writeResultRow writes a row at once. What is there already, and what has no decision,
// is left out.
func (r *resultsFile) writeResultRow(res Result) error {
	if r.f == nil || res.Unanswered || r.earlier.Has(res) {
		return nil
	}
	r.earlier.NoteNew(res)
	r.taken.noteDecided(res)
	if err := terminal.WriteLine(r.f, res.LabelledJSON()); err != nil {
		r.taken = takenOut{} // behind half a row nothing may stand
		return r.unwrittenError(err)
	}
	return nil
}

// unwrittenError is the failure of a row that could not be written, as on a full disk.
func (r *resultsFile) unwrittenError(err error) error {
	todo := ""
	if info, serr := r.f.Stat(); serr == nil && info.Mode().IsRegular() {
		todo = "the rows before it are kept; once the file can be written, run it again with --resume to go on"
	}
	return &advice.Error{Err: fmt.Errorf("%s can't be written: %w", r.name, advice.CauseOf(err)), Todo: todo}
}

// close puts back what this run took out and didn't decide, and closes the file.
func (r *resultsFile) close() error {
	if r.f == nil {
		return nil
	}
	return errors.Join(r.putBackRows(), r.f.Close())
}

// dropEdited takes the rows out whose case was edited, once all cases were gone
// through. It returns how many these were, and how many rows are of no case of the run.
func (r *resultsFile) dropEdited() (dropped, others int, err error) {
	if r.f == nil {
		return 0, 0, nil
	}
	places, others := r.earlier.Replaced()
	return len(places), others, r.dropRows(places)
}

// dropRows takes rows out of the file, by their places, and leaves the other lines as
// they are. The file is replaced as a whole.
func (r *resultsFile) dropRows(places []int) error {
	if len(places) == 0 {
		return nil
	}
	out := map[int]bool{}
	for _, p := range places {
		out[p] = true
	}
	name := r.name
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real // the file is replaced, not the link to it
	}
	next, err := createBeside(name)
	if err != nil {
		return err
	}
	if err := r.copyRows(next, out); err != nil {
		return errors.Join(err, next.Close(), os.Remove(next.Name()))
	}
	if err := replaceFile(next.Name(), name); err != nil {
		return errors.Join(err, next.Close())
	}
	old := r.f
	// The lock is on the file, so it came with it.
	r.f = next
	return old.Close()
}

// copyRows locks the next file of results, and copies lines but for some.
func (r *resultsFile) copyRows(next *os.File, out map[int]bool) error {
	if _, err := lockForRun(next, next.Name()); err != nil {
		return err
	}
	if err := errors.Join(seekTo(r.f, 0), copyWithout(next, r.f, out), next.Sync()); err != nil {
		return fmt.Errorf("%s can't be written: %w", next.Name(), advice.CauseOf(err))
	}
	return nil
}

// takenOut are the rows that --retry-unjudged took out of the file of results, until
// their cases are decided again.
type takenOut struct {
	rows  []Row
	lines [][]byte
}

// noteDecided notes that a case was decided again, or another of its id in its place.
func (t *takenOut) noteDecided(res Result) {
	i := slices.IndexFunc(t.rows, func(w Row) bool {
		return w.Line == res.Line && w.Line != "" || w.ID == res.Case.ID && w.ID != ""
	})
	if i >= 0 {
		t.rows, t.lines = slices.Delete(t.rows, i, i+1), slices.Delete(t.lines, i, i+1)
	}
}

// takeOutUnjudged takes the rows out that say nothing of their case, so that it is
// decided again.
func (r *resultsFile) takeOutUnjudged() error {
	var places []int
	var rest []Row
	for i, w := range r.rows {
		if w.Review.NotJudged() != "" {
			places = append(places, i)
			r.taken.rows = append(r.taken.rows, w)
		} else {
			rest = append(rest, w)
		}
	}
	var err error
	if r.taken.lines, err = readLinesAt(r.f, places); err != nil {
		return fmt.Errorf("%s can't be read: %w", r.name, advice.CauseOf(err))
	}
	if err := r.dropRows(places); err != nil {
		r.taken = takenOut{} // they are where they were
		return err
	}
	r.rows, r.earlier = rest, NewEarlier(rest)
	return nil
}

// putBackRows writes the rows again that were taken out and whose cases this run didn't
// come to. What a run that is killed doesn't put back is decided by the next.
func (r *resultsFile) putBackRows() error {
	for _, line := range r.taken.lines {
		if _, err := r.f.Write(line); err != nil {
			return fmt.Errorf("%s can't be written: %w", r.name, advice.CauseOf(err))
		}
	}
	r.taken = takenOut{}
	return nil
}

// readLinesAt reads lines of a file by their places, which are in order.
func readLinesAt(f *os.File, places []int) ([][]byte, error) {
	if err := seekTo(f, 0); err != nil {
		return nil, err
	}
	var out [][]byte
	in := bufio.NewReaderSize(f, 64<<10)
	for n := 0; len(out) < len(places); n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		if n == places[len(out)] {
			out = append(out, line)
		}
	}
	return out, nil
}

// copyWithout copies lines but for some.
func copyWithout(to io.Writer, from io.Reader, out map[int]bool) error {
	r, w := bufio.NewReaderSize(from, 64<<10), bufio.NewWriter(to)
	for n := 0; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return w.Flush()
		}
		if err != nil {
			return err
		}
		if out[n] {
			continue
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
}

func seekTo(f *os.File, offset int64) error {
	_, err := f.Seek(offset, io.SeekStart)
	return err
}

// createBeside makes a file in the folder of name, which is to replace it. Only the
// owner may read the new file. Its name is fresh: it is no file or link that exists.
func createBeside(name string) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".new-*")
	if err != nil {
		return nil, fmt.Errorf("%s can't be written: %w", name, advice.CauseOf(err))
	}
	return f, nil
}

// replaceFile puts a file in the place of another.
func replaceFile(next, name string) error {
	if err := os.Rename(next, name); err != nil {
		return errors.Join(fmt.Errorf("%s can't be written: %w", name, advice.CauseOf(err)), os.Remove(next))
	}
	return nil
}

// openExclusively opens a file for this run alone: two that wrote rows at a time would leave
// neither's. It is its owner's, and what is written goes to its end.
func openExclusively(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s can't be written: %w", name, advice.CauseOf(err))
	}
	return lockForRun(f, name)
}

// lockForRun locks a file that was opened by a name. It closes it where it can't.
func lockForRun(f *os.File, name string) (*os.File, error) {
	free, err := tryLock(f)
	if err == nil && !free {
		return nil, errors.Join(otherRunError(name), f.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s can't be locked: %w", name, err), f.Close())
	}
	// Between opening and locking it another run may have put a new one there.
	mine, err1 := f.Stat()
	there, err2 := os.Stat(name)
	if err1 != nil || err2 != nil || !os.SameFile(mine, there) {
		return nil, errors.Join(otherRunError(name), f.Close())
	}
	if mine.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("%s is open to others: %w", name, advice.CauseOf(err)), f.Close())
		}
	}
	return f, nil
}

// otherRunError is the failure of a run whose file another run is writing.
func otherRunError(name string) error {
	return &advice.Error{
		Err:  fmt.Errorf("%s is being written by another eval", name),
		Todo: "name another file with --results, or wait for it",
	}
}
