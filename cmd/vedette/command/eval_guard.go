package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/control"
)

// output is a file that eval writes.
type output struct{ flag, name, what string }

// outputs are the files that eval writes: those that are named, and what it puts
// beside them.
func (f evalFlags) outputs() []output {
	var out []output
	if f.results != "" {
		out = append(out, output{"--results", f.results, ""}, output{"--results", manifestName(f.results), "the manifest beside it"})
	}
	if f.prompts != "" {
		out = append(out, output{"--print-prompts", f.prompts, ""})
	}
	return out
}

func (o output) String() string {
	if o.what == "" {
		return o.flag + " " + o.name
	}
	return fmt.Sprintf("%s writes %s, %s, which", o.flag, o.name, o.what)
}

// apart refuses to write over a file that is still to be read, or the same file
// twice.
func apart(f evalFlags, files []string) error {
	outs := f.outputs()
	for i, out := range outs {
		if out.name == "-" {
			return usage(out.flag + " - : name a file")
		}
		for _, name := range files {
			if same(out.name, name) {
				return usage(fmt.Sprintf("%s is a file of cases; name another", out))
			}
		}
		ins := []output{{"--config", f.config, ""}, {"--against", f.against, ""}, {"--answers", f.answer, ""}}
		for _, in := range append(ins, outs[:i]...) {
			if in.name != "" && same(out.name, in.name) {
				return usage(fmt.Sprintf("%s is the file of %s too; name another", out, in.flag))
			}
		}
	}
	return nil
}

// guarded refuses to write over what the deployment is made of, and over a file
// with something in it that eval didn't write.
func guarded(cfg *config.Config, f evalFlags) error {
	for _, out := range f.outputs() {
		// What is made through such a link is compared with nothing: it isn't there.
		if dangling(out.name) {
			return usage(fmt.Sprintf("%s is a link to nothing; name the file itself", out))
		}
		for name, what := range deployment(cfg) {
			if same(out.name, name) {
				return usage(fmt.Sprintf("%s is %s of this configuration; name another", out, what))
			}
		}
		if pattern := included(cfg, f.config, out.name); pattern != "" {
			return usage(fmt.Sprintf("%s would be read as a file of skills: skills.include has %q; name another", out, pattern))
		}
		if within(out.name, cfg.Keys.Dir) {
			return usage(fmt.Sprintf("%s is in the folder of the keys; name another", out))
		}
	}
	if f.prompts != "" {
		if err := ownPrompts(f.prompts); err != nil {
			return err
		}
	}
	if info, err := os.Stat(f.results); f.results == "" || f.resume && err == nil && info.Size() > 0 {
		return nil // what is gone on with is looked at then
	}
	return mayBegin(f)
}

// dangling reports whether a name is a link to what isn't there.
func dangling(name string) bool {
	info, err := os.Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return false
	}
	_, err = os.Stat(name)
	return err != nil
}

// deployment are the files that the configuration runs with, and what they are.
func deployment(cfg *config.Config) map[string]string {
	out := map[string]string{}
	for _, name := range cfg.Files {
		out[name] = "a file"
	}
	if cfg.Sentinel.Prompt != "" {
		out[cfg.Sentinel.Prompt] = "the prompt"
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal", ".lock"} {
		out[cfg.Ledger.Path+suffix] = "the ledger"
	}
	out[control.SocketPath(cfg.Ledger.Path)] = "the socket"
	if exe, err := os.Executable(); err == nil {
		out[exe] = "the program"
	}
	return out
}

// within reports whether a name is of a folder or something in it.
func within(name, dir string) bool {
	if dir == "" {
		return false
	}
	rel, err := filepath.Rel(settled(dir), settled(name))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// same reports whether two names are of one file; of what isn't there yet, the
// names decide, from the folders that they stand in.
func same(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	if err1 != nil || err2 != nil {
		return a == b || settled(a) == settled(b)
	}
	return os.SameFile(x, y)
}

// settled is a name without links, as far as it is there.
func settled(name string) string {
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

// mayBegin reports what keeps a file of results from being emptied.
func mayBegin(f evalFlags) error {
	if info, err := os.Stat(manifestName(f.results)); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return foreign("--results", manifestName(f.results))
	}
	line, err1 := begins(f.results)
	told, err2 := begins(manifestName(f.results))
	own := ownManifest(manifestName(f.results))
	switch {
	case err1 != nil || err2 != nil:
		return errors.Join(err1, err2)
	case len(told) > 0 && !own:
		return foreign("--results", manifestName(f.results))
	case len(line) > 0 && !isRow(line) && !(own && tornRow(line)):
		return foreign("--results", f.results)
	case !bytes.HasSuffix(line, []byte("\n")) || f.overwrite:
		return nil
	}
	return &failure{
		exitFailed, fmt.Errorf("%s holds the results of an earlier run", f.results),
		"--resume goes on with them, --overwrite begins again without them",
	}
}

func foreign(flag, name string) error {
	return &failure{exitFailed, fmt.Errorf("%s %s: eval did not write what stands there", flag, name), "name another file, or remove this one"}
}

// ownPrompts lets prompts be written over prompts: they can be made again.
func ownPrompts(name string) error {
	line, err := begins(name)
	if err != nil || len(line) == 0 {
		return err
	}
	var p struct {
		Key, Model string
		Body       json.RawMessage
	}
	if json.Unmarshal(line, &p) != nil || p.Key == "" || p.Model == "" || p.Body == nil {
		return foreign("--print-prompts", name)
	}
	return nil
}

func isRow(line []byte) bool {
	rows, err := cases.ReadRows(strings.NewReader(string(line)))
	return err == nil && len(rows.List) == 1
}

// tornRow reports whether text is the beginning of a row: of a run that was killed
// in the middle of its first.
func tornRow(text []byte) bool {
	begin := []byte(`{"id":"`)
	n := min(len(text), len(begin))
	return !bytes.HasSuffix(text, []byte("\n")) && bytes.Equal(text[:n], begin[:n])
}

func ownManifest(name string) bool {
	b, err := readRegular(name)
	var m manifest
	return err == nil && json.Unmarshal(b, &m) == nil && m.Format != 0
}

// begins returns the first line of a regular file with its end, where it has one;
// nothing where there is nothing in it.
func begins(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil, nil // what can't be looked at can't be written, and is told then
	}
	f, err := openUnblocked(name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", name, cause(err))
	}
	defer func() { _ = f.Close() }() // it was only read
	line, err := bufio.NewReader(io.LimitReader(f, 2*cases.MaxLine)).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s can't be read: %w", name, cause(err))
	}
	return line, nil
}
