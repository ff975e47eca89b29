package vedette

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mutant is one line that holds an invariant, broken on purpose, and the tests
// that must notice.
type mutant struct {
	name     string // what would be wrong
	file     string // below the module
	old, new string // old stands in the file exactly once
	pkg      string // of the tests
	tests    []string
	quick    bool // also without VEDETTE_LONG
}

// broken returns the file as the mutant has it.
func (m mutant) broken(t *testing.T) []byte {
	t.Helper()
	src, err := os.ReadFile(m.file)
	require.NoError(t, err)
	require.Equal(t, 1, bytes.Count(src, []byte(m.old)), "%s must hold the line that is broken, once: %s", m.file, m.old)
	require.NotEqual(t, m.old, m.new)
	return bytes.Replace(src, []byte(m.old), []byte(m.new), 1)
}

// build compiles the tests of a package, with the mutant in place of what is on
// disk, and returns the program. The detector of races is in it if it is in this
// one, so that what was compiled for the other tests is used again.
func build(t *testing.T, pkg, overlay string) (program string, err error) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "mutant.test")
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		args = append(args, "-race")
	}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	out, err := exec.CommandContext(t.Context(), "go", append(args, "./"+pkg)...).CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return program, nil
}

// overlay writes what tells the compiler of the mutant.
func (m mutant) overlay(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	mutated := filepath.Join(dir, "mutated.go")
	require.NoError(t, os.WriteFile(mutated, m.broken(t), 0o600))
	at, err := filepath.Abs(m.file)
	require.NoError(t, err)
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{at: mutated}})
	require.NoError(t, err)
	path := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(path, list, 0o600))
	return path
}

// rapid reports whether a package's tests draw their cases, and would keep those
// that fail among their files.
func rapid(t *testing.T, pkg string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(pkg), "*_test.go"))
	require.NoError(t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		src, err := os.ReadFile(file)
		return err == nil && bytes.Contains(src, []byte(`"pgregory.net/rapid"`))
	})
}

// passes runs one test of a program and says whether it passed. A program that
// says neither that the test passed nor that it failed, such as one that hangs,
// breaks this test: nobody noticed anything.
func passes(t *testing.T, program, pkg, test string) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+regexp.QuoteMeta(test)+"$", "-test.v", "-test.timeout=2m", "-test.count=1")
	cmd.Dir = filepath.FromSlash(pkg)
	if rapid(t, pkg) {
		cmd.Args = append(cmd.Args, "-rapid.nofailfile") // which would be found the next time
	}
	out, err := cmd.CombinedOutput()
	said := func(word string) bool {
		return regexp.MustCompile(`(?m)^--- ` + word + `: ` + regexp.QuoteMeta(test) + ` `).Match(out)
	}
	switch {
	case err == nil && said("PASS"):
		return true
	case err != nil && said("FAIL"):
		return false
	}
	t.Fatalf("%s of %s neither passed nor failed: %v\n%s", test, pkg, err, out)
	return false
}

// invariants are the tables of mutants by the number of the invariant.
func invariants() map[string][]mutant {
	return map[string][]mutant{
		"1": unwarranted, "2": swapped, "3": openers, "4": lifters, "5": unaccounted, "6": tampered, "7": leakers, "8": spreaders,
		"9": heirs, "10": forgers, "11": wideners, "12": forgetters, "1, 2, 4, 5 and 12": decided, "the sandbox": unconfined,
	}
}

// Each line of the tables is there as it is written, so that a change of the
// code can't leave a mutant behind that changes nothing, and each test is.
func TestMutantsAreOfThisCode(t *testing.T) {
	tests := declaredTests(t)
	for number, list := range invariants() {
		names := map[string]bool{}
		for _, m := range list {
			m.broken(t)
			require.False(t, names[m.name], "invariant %s, %s: twice", number, m.name)
			names[m.name] = true
			require.NotEmpty(t, m.tests, m.name)
			for _, test := range m.tests {
				require.Contains(t, tests[m.pkg], test, m.name)
			}
		}
	}
}

// declaredTests returns the tests of each package. It reads every Go file of the
// module: what is compiled below is these, so the result of this test is not to
// be taken for that of a tree in which one has changed.
func declaredTests(t *testing.T) map[string][]string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	out := map[string][]string{}
	require.NoError(t, filepath.WalkDir(".", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(file, ".go") {
			return err
		}
		src, err := os.ReadFile(file)
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(file))
		for _, f := range found.FindAllSubmatch(src, -1) {
			out[pkg] = append(out[pkg], string(f[1]))
		}
		return nil
	}))
	return out
}

// Where a line that holds an invariant is broken, the tests that are named with it
// fail, and they pass on the code as it is. A mutant that doesn't compile proves
// nothing, and neither does one that hangs. Without VEDETTE_LONG it is about twenty,
// one or two for each invariant.
func TestInvariantsAreTested(t *testing.T) {
	declaredTests(t)
	long := os.Getenv("VEDETTE_LONG") != "" // ./test -long
	tests := map[string][]string{}          // that are relied on, by package
	for number, list := range invariants() {
		t.Run(number, func(t *testing.T) {
			for _, m := range list {
				if !long && !m.quick {
					continue
				}
				tests[m.pkg] = append(tests[m.pkg], m.tests...)
				t.Run(m.name, func(t *testing.T) {
					t.Parallel()
					program, err := build(t, m.pkg, m.overlay(t))
					require.NoError(t, err, "the mutant doesn't compile")
					for _, test := range m.tests {
						require.False(t, passes(t, program, m.pkg, test), "%s passes, although %s", test, m.name)
					}
				})
			}
		})
	}
	if !long {
		return // all other packages are tested beside this one, as they are
	}
	for pkg, names := range tests {
		t.Run("as it is/"+pkg, func(t *testing.T) {
			program, err := build(t, pkg, "")
			require.NoError(t, err)
			slices.Sort(names)
			for _, test := range slices.Compact(names) {
				require.True(t, passes(t, program, pkg, test), "%s fails on the code as it is", test)
			}
		})
	}
}
