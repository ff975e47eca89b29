package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/control"
)

// output is a file that eval writes.
type output struct{ flag, name, what string }

// listOutputs returns the files that a run writes: those that are named, and the
// manifest.
func (o RunOptions) listOutputs() []output {
	var out []output
	if name := o.Results.File; name != "" {
		out = append(out, output{"--results", name, ""}, output{"--results", manifestName(name), "the manifest beside it"})
	}
	if o.Prompts != "" {
		out = append(out, output{"--print-prompts", o.Prompts, ""})
	}
	return out
}

func (o output) String() string {
	if o.what == "" {
		return o.flag + " " + o.name
	}
	return fmt.Sprintf("%s writes %s, %s, which", o.flag, o.name, o.what)
}

// checkFilesApart refuses to write over a file that is still to be read, or the same file
// twice.
func checkFilesApart(o RunOptions, files []string) error {
	outs := o.listOutputs()
	for i, out := range outs {
		if out.name == "-" {
			return &UsageError{out.flag + " - : name a file"}
		}
		for _, name := range files {
			if isSameFile(out.name, name) {
				return &UsageError{fmt.Sprintf("%s is a file of cases; name another", out)}
			}
		}
		ins := []output{{"--config", o.ConfigFile, ""}, {"--against", o.Against, ""}, {"--answers", o.Answers, ""}}
		for _, flag := range slices.Sorted(maps.Keys(o.Inputs)) {
			ins = append(ins, output{flag, o.Inputs[flag], ""})
		}
		for _, in := range append(ins, outs[:i]...) {
			if in.name != "" && isSameFile(out.name, in.name) {
				return &UsageError{fmt.Sprintf("%s is the file of %s too; name another", out, in.flag)}
			}
		}
	}
	return nil
}

// checkOutputs refuses to write over what the deployment is made of, and over files
// that eval didn't write.
func checkOutputs(cfg *config.Config, o RunOptions) error {
	for _, out := range o.listOutputs() {
		// What is made through such a link is compared with nothing: it isn't there.
		if isDangling(out.name) {
			return &UsageError{fmt.Sprintf("%s is a link to nothing; name the file itself", out)}
		}
		for name, what := range deploymentFiles(cfg) {
			if isSameFile(out.name, name) {
				return &UsageError{fmt.Sprintf("%s is %s of this configuration; name another", out, what)}
			}
		}
		if pattern := includingPattern(cfg, o.ConfigFile, out.name); pattern != "" {
			return &UsageError{fmt.Sprintf("%s would be read as a file of skills: skills.include has %q; name another", out, pattern)}
		}
		if isWithin(out.name, cfg.Keys.Dir) {
			return &UsageError{fmt.Sprintf("%s is in the folder of the keys; name another", out)}
		}
	}
	if o.Prompts != "" {
		if err := checkOwnPrompts(o.Prompts); err != nil {
			return err
		}
	}
	r := o.Results
	if info, err := os.Stat(r.File); r.File == "" || r.Resume && err == nil && info.Size() > 0 {
		return nil // what is gone on with is looked at then
	}
	return checkMayBegin(r)
}

// isDangling reports whether a name is a link to what isn't there.
func isDangling(name string) bool {
	info, err := os.Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return false
	}
	_, err = os.Stat(name)
	return err != nil
}

// deploymentFiles are the files that the configuration runs with, and what they are.
func deploymentFiles(cfg *config.Config) map[string]string {
	out := map[string]string{}
	for _, name := range cfg.Files {
		out[name] = "a file"
	}
	if cfg.Sentinel.Prompt != "" {
		out[cfg.Sentinel.Prompt] = "the prompt"
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal", ".lock", ".d"} {
		out[cfg.Ledger.Path+suffix] = "the ledger"
	}
	out[control.SocketPath(cfg.Ledger.Path)] = "the socket"
	if exe, err := os.Executable(); err == nil {
		out[exe] = "the program"
	}
	return out
}

// isWithin reports whether a name is of a folder or something in it.
func isWithin(name, dir string) bool {
	if dir == "" {
		return false
	}
	rel, err := filepath.Rel(resolveLinks(dir), resolveLinks(name))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// isSameFile reports whether two names are of one file. Of what isn't there yet, the
// names decide, from the folders that they stand in.
func isSameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	if err1 != nil || err2 != nil {
		return a == b || resolveLinks(a) == resolveLinks(b)
	}
	return os.SameFile(x, y)
}

// resolveLinks is a name without links, as far as it is there.
func resolveLinks(name string) string {
	abs, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	for rest := ""; ; {
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			return filepath.Join(real, rest)
		}
		up := filepath.Dir(abs)
		if up == abs {
			return filepath.Join(abs, rest)
		}
		abs, rest = up, filepath.Join(filepath.Base(abs), rest)
	}
}

// checkMayBegin returns what keeps a file of results from being emptied.
func checkMayBegin(o ResultsOptions) error {
	if info, err := os.Stat(manifestName(o.File)); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return foreignError("--results", manifestName(o.File))
	}
	line, err1 := readFirstLine(o.File)
	said, err2 := readFirstLine(manifestName(o.File))
	own := isOwnManifest(manifestName(o.File))
	switch {
	case err1 != nil || err2 != nil:
		return errors.Join(err1, err2)
	case len(said) > 0 && !own:
		return foreignError("--results", manifestName(o.File))
	case len(line) > 0 && !isRow(line) && !(own && isTornRow(line)):
		return foreignError("--results", o.File)
	case !bytes.HasSuffix(line, []byte("\n")) || o.Overwrite:
		return nil
	}
	return &advice.Error{
		Err:  fmt.Errorf("%s holds the results of an earlier run", o.File),
		Todo: "--resume goes on with them, --overwrite begins again without them",
	}
}

func foreignError(flag, name string) error {
	return &advice.Error{
		Err:  fmt.Errorf("%s %s: eval did not write what stands there", flag, name),
		Todo: "name another file, or remove this one",
	}
}

// checkOwnPrompts lets prompts be written over prompts: they can be made again.
func checkOwnPrompts(name string) error {
	line, err := readFirstLine(name)
	if err != nil || len(line) == 0 {
		return err
	}
	var p struct {
		Key, Model string
		Body       json.RawMessage
	}
	if json.Unmarshal(line, &p) != nil || p.Key == "" || p.Model == "" || p.Body == nil {
		return foreignError("--print-prompts", name)
	}
	return nil
}

func isRow(line []byte) bool {
	rows, err := ReadRows(strings.NewReader(string(line)))
	return err == nil && len(rows.List) == 1
}

// isTornRow reports whether text is the beginning of a row. A run that was killed in
// the middle of its first row leaves one.
func isTornRow(text []byte) bool {
	begin := []byte(`{"id":"`)
	n := min(len(text), len(begin))
	return !bytes.HasSuffix(text, []byte("\n")) && bytes.Equal(text[:n], begin[:n])
}

// readFirstLine returns the first line of a regular file, with its end where there is
// one. An empty file has none.
func readFirstLine(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil, nil // what can't be looked at can't be written, and is told then
	}
	f, err := openUnblocked(name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", name, advice.CauseOf(err))
	}
	defer func() { _ = f.Close() }() // it was only read
	line, err := bufio.NewReader(io.LimitReader(f, 2*cases.MaxLine)).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s can't be read: %w", name, advice.CauseOf(err))
	}
	return line, nil
}

// includingPattern returns the pattern of skills.include that takes in a name, whether
// a file is there or not. The next to read the configuration would read that file.
// Empty where none does.
func includingPattern(cfg *config.Config, from, name string) string {
	for _, pattern := range cfg.SkillFiles.Include {
		base, rest := doublestar.SplitPattern(filepath.ToSlash(pattern))
		if !filepath.IsAbs(base) {
			base = filepath.Join(filepath.Dir(from), base)
		}
		rel, err := filepath.Rel(resolveLinks(base), resolveLinks(name))
		if err != nil || strings.HasPrefix(rel, "..") {
			continue
		}
		if ok, err := doublestar.Match(rest, filepath.ToSlash(rel)); ok && err == nil {
			return pattern
		}
	}
	return ""
}
