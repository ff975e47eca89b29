package vedette

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
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

// isRace reports whether this program has the detector of races.
func isRace() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// build compiles the tests of packages, with an overlay in place of what is on disk,
// and returns the program of each.
func build(t *testing.T, overlay string, race bool, packages ...string) (programs map[string]string, err error) {
	t.Helper()
	programs = map[string]string{}
	for len(packages) > 0 {
		dir, names := t.TempDir(), map[string]bool{}
		args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", dir + string(filepath.Separator)}
		if race {
			args = append(args, "-race", "-gcflags=modernc.org/...=-race=false") // as ./test has it
		}
		var later []string // of a name that another has
		for _, pkg := range packages {
			name := path.Base(pkg) + ".test"
			if names[name] {
				later = append(later, pkg)
				continue
			}
			names[name], programs[pkg] = true, filepath.Join(dir, name)
			args = append(args, "./"+pkg)
		}
		out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
		if err != nil {
			return nil, errors.New(string(out))
		}
		packages = later
	}
	return programs, nil
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

// passes runs one test of a program, with the mutant of that number in force, and says
// whether it passed. A program that says neither that the test passed nor that it failed, such as one that hangs,
// breaks this test: nobody noticed anything.
func passes(t *testing.T, program, pkg, test, number string) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+regexp.QuoteMeta(test)+"$", "-test.v", "-test.timeout=2m", "-test.count=1")
	cmd.Dir = filepath.FromSlash(pkg)
	cmd.Env = append(os.Environ(), switchVar+"="+number)
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
		"a reload": loosened,
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
// one or two for each invariant. They are compiled into one program for each package,
// see switch_test.go, and it runs with one of them in force at a time. The detector of
// races doubles the time of both, so it is in all mutants or in none.
func TestInvariantsAreTested(t *testing.T) {
	declaredTests(t)
	long := os.Getenv("VEDETTE_LONG") != "" // ./test -long
	race := long && isRace()
	chosen, tests := map[string][]mutant{}, map[string][]string{} // tests that are relied on, by package
	b := newSwitchboard()
	for number, list := range invariants() {
		for _, m := range list {
			if long || m.quick {
				chosen[number], tests[m.pkg] = append(chosen[number], m), append(tests[m.pkg], m.tests...)
				b.add(t, m)
			}
		}
	}
	programs, err := build(t, b.overlay(t), race, slices.Sorted(maps.Keys(tests))...)
	require.NoError(t, err, "a mutant doesn't compile; the name of its function ends in its number")
	for number, list := range chosen {
		t.Run(number, func(t *testing.T) {
			for _, m := range list {
				t.Run(m.name, func(t *testing.T) {
					t.Parallel()
					program, at := programs[m.pkg], b.numbers[m.key()]
					if at == "" { // it can't be switched
						alone, err := build(t, writeOverlay(t, map[string][]byte{m.file: m.broken(t)}), race, m.pkg)
						require.NoError(t, err, "the mutant doesn't compile")
						program = alone[m.pkg]
					}
					for _, test := range m.tests {
						require.False(t, passes(t, program, m.pkg, test, at), "%s passes, although %s", test, m.name)
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
			t.Parallel()
			slices.Sort(names)
			for _, test := range slices.Compact(names) {
				require.True(t, passes(t, programs[pkg], pkg, test, ""), "%s fails on the code as it is", test)
			}
		})
	}
}
