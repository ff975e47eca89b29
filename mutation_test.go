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

// flagsOfBuild are those with which ./test compiles. What is compiled with them too is in the build
// cache already, but for what differs.
func flagsOfBuild() []string { return strings.Fields(os.Getenv("VEDETTE_TEST_BUILD")) }

// build compiles the tests of packages, with an overlay in place of what is on disk,
// and returns the program of each.
func build(t *testing.T, overlay string, packages ...string) (programs map[string]string, err error) {
	t.Helper()
	programs = map[string]string{}
	for len(packages) > 0 {
		dir, names := t.TempDir(), map[string]bool{}
		args := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", dir + string(filepath.Separator)},
			flagsOfBuild()...)
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
// one or two for each invariant. They are compiled into the tests that must notice, see
// switch_test.go, and one of them is in force at a time. What none of them changes is
// compiled as ./test compiles it, and so it is compiled once.
func TestInvariantsAreTested(t *testing.T) {
	declaredTests(t)
	long := os.Getenv("VEDETTE_LONG") != "" // ./test -long
	chosen := map[string][]mutantOf{}       // by package of the tests
	for number, list := range invariants() {
		for _, m := range list {
			if long || m.quick {
				chosen[m.pkg] = append(chosen[m.pkg], mutantOf{number, m})
			}
		}
	}
	var all *switchboard
	programs := map[string]string{}
	if long { // most packages have mutants, and one board has each package that imports them compiled once
		all = newSwitchboard()
		for _, list := range chosen {
			all.addAll(t, list)
		}
		var err error
		programs, err = build(t, all.overlay(t), slices.Sorted(maps.Keys(chosen))...)
		require.NoError(t, err, "a mutant doesn't compile; the name of its function ends in its number")
	}
	for _, pkg := range slices.Sorted(maps.Keys(chosen)) {
		t.Run(pkg, func(t *testing.T) {
			t.Parallel()
			b, program := all, programs[pkg]
			if b == nil {
				b = newSwitchboard()
				b.addAll(t, chosen[pkg])
				built, err := build(t, b.overlay(t), pkg)
				require.NoError(t, err, "a mutant doesn't compile; the name of its function ends in its number")
				program = built[pkg]
			}
			for _, m := range chosen[pkg] {
				t.Run(m.invariant+"/"+m.name, func(t *testing.T) {
					t.Parallel()
					m.isNoticed(t, program, b.numbers[m.key()])
				})
			}
			if long { // else the package is tested beside this one, as it is
				passAsTheyAre(t, program, pkg, chosen[pkg])
			}
		})
	}
}

// mutantOf is a mutant and the number of the invariant that it breaks.
type mutantOf struct {
	invariant string
	mutant
}

// isNoticed holds that each test of the mutant fails, in a program in which it is in force by its
// switch. One that can't be switched is compiled alone.
func (m mutant) isNoticed(t *testing.T, program, at string) {
	if at == "" {
		alone, err := build(t, writeOverlay(t, map[string][]byte{m.file: m.broken(t)}), m.pkg)
		require.NoError(t, err, "the mutant doesn't compile")
		program = alone[m.pkg]
	}
	for _, test := range m.tests {
		require.False(t, passes(t, program, m.pkg, test, at), "%s passes, although %s", test, m.name)
	}
}

// passAsTheyAre holds that the tests that are relied on pass where no mutant is in force.
func passAsTheyAre(t *testing.T, program, pkg string, list []mutantOf) {
	var names []string
	for _, m := range list {
		names = append(names, m.tests...)
	}
	slices.Sort(names)
	t.Run("as it is", func(t *testing.T) {
		t.Parallel()
		for _, test := range slices.Compact(names) {
			require.True(t, passes(t, program, pkg, test, ""), "%s fails on the code as it is", test)
		}
	})
}
