package vedette

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// block is what stands between two fences of a page.
type block struct {
	page, lang, text string
	line             int // of the opening fence
}

func (b block) at() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// fenced returns the blocks of a page.
func fenced(t *testing.T, page string) (list []block) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	open := false
	for i, l := range strings.Split(string(text), "\n") {
		lang, fence := strings.CutPrefix(l, "```")
		switch {
		case fence && !open:
			list = append(list, block{page: page, lang: lang, line: i + 1})
			open = true
		case fence:
			open = false
		case open:
			list[len(list)-1].text += l + "\n"
		}
	}
	require.False(t, open, "%s: a fence is not closed", page)
	return list
}

// pages are those that somebody reads to use or to change Vedette.
func pages(t *testing.T) []string {
	t.Helper()
	list := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"}
	for _, pattern := range []string{"docs/*.md", "docs/decisions/*.md", "examples/*/README.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		list = append(list, found...)
	}
	return list
}

// What the pages show is what the program does: it is built once for all of it.
func TestPages(t *testing.T) {
	vedette := binary(t)
	for name, holds := range map[string]func(*testing.T, string){
		"configurations": configurationsAreValid, "demo": demoPrintsTheScreen, "mistake": mistakeIsTold,
		"pause": pauseIsTold, "commands": commandsExist, "skills": skillsAreTriedOut, "explain": explanationIsShown,
	} {
		t.Run(name, func(t *testing.T) { holds(t, vedette) })
	}
}

// binary builds the program.
func binary(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "vedette")
	args := slices.Concat([]string{"build", "-o", program}, flagsOfBuild(), []string{"./cmd/vedette"})
	out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// runIn runs a command in a folder and returns all it printed and its exit status.
func runIn(t *testing.T, dir string, env []string, command ...string) (out string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "GORACE=atexit_sleep_ms=0 halt_on_error=1"), env...)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err, string(text))
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// Each YAML block of the README is a configuration that is valid as pasted.
func configurationsAreValid(t *testing.T, vedette string) {
	n := 0
	for _, b := range fenced(t, "README.md") {
		if b.lang != "yaml" {
			continue
		}
		n++
		t.Run(b.at(), func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "vedette.yaml"), []byte(b.text), 0o600))
			out, status := runIn(t, dir, []string{"REDIS_URL=redis://127.0.0.1:6379"}, vedette, "validate")
			require.Zero(t, status, out)
			require.Contains(t, out, "\nvedette.yaml is valid\n")
		})
	}
	require.GreaterOrEqual(t, n, 4)
}

// goes are the surroundings in which a Go block of the README stands: what it
// uses, and what a program would do with what it makes. The blocks are found by
// their first line.
var goes = map[string]struct{ imports, before, after string }{
	`cfg, err := config.Load("vedette.yaml", config.Options{})`: {
		`"context"; "os"; "` + module + `/config"; "` + module + `/orchestrator"; "` + module + `/sentinel/approval"; "` + module + `/skills"`,
		"func embed(ctx context.Context, createTask *skills.GoSkill) (orchestrator.Reply, error) {", "return reply, err\n}",
	},
	`createTask, err := skills.Func(`: {
		`"context"; "` + module + `/skills"`,
		"type NewTask struct{ Title string }\ntype Task struct{ ID string }\ntype tasks struct{}\n" +
			"func (tasks) Create(context.Context, NewTask) (Task, error) { return Task{}, nil }\n" +
			"func make(store tasks) (*skills.GoSkill, error) {", "return createTask, err\n}",
	},
}

// Each Go block of the README compiles.
func TestReadmeProgramsCompile(t *testing.T) {
	dir, replace := t.TempDir(), map[string]string{}
	root, err := os.Getwd()
	require.NoError(t, err)
	var packages []string
	for i, b := range fenced(t, "README.md") {
		if b.lang != "go" {
			continue
		}
		first, _, _ := strings.Cut(b.text, "\n")
		around, known := goes[first]
		require.True(t, known, "%s: say in goes where this block would stand", b.at())
		file := filepath.Join(dir, fmt.Sprintf("%d.go", i))
		src := fmt.Sprintf("package page\n\nimport (%s)\n\n%s\n%s\n%s\n", around.imports, around.before, b.text, around.after)
		require.NoError(t, os.WriteFile(file, []byte(src), 0o600))
		replace[filepath.Join(root, "internal", fmt.Sprintf("page%d", i), "page.go")] = file
		packages = append(packages, fmt.Sprintf("./internal/page%d", i))
	}
	require.Len(t, packages, len(goes))
	list, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, list, 0o600))
	args := slices.Concat([]string{"build", "-overlay", overlay}, flagsOfBuild(), packages)
	out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
	require.NoError(t, err, string(out))
}

// varies are what a screen shows otherwise each time.
var varies = []struct{ pattern, as string }{
	{` +[0-9]+\.[0-9]+ ms`, " N ms"}, {`\b[0-9]+(\.[0-9]+)?(ms|s)\b`, "N"}, {`[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}`, "TIME"},
}

func steady(text string) string {
	for _, v := range varies {
		text = regexp.MustCompile(v.pattern).ReplaceAllString(text, v.as)
	}
	return text
}

// The README's screen is what the demo prints, but for times.
func demoPrintsTheScreen(t *testing.T, vedette string) {
	out, status := runIn(t, t.TempDir(), nil, vedette, "demo", "--dir", filepath.Join(t.TempDir(), "demo"))
	require.Zero(t, status, out)
	screens := slices.DeleteFunc(fenced(t, "README.md"), func(b block) bool { return !strings.HasPrefix(b.text, "3. a mail") })
	require.Len(t, screens, 1)
	require.Contains(t, steady(out), steady(screens[0].text))
}

// The mistake that the README shows is told as it shows it.
func mistakeIsTold(t *testing.T, vedette string) {
	dir := t.TempDir()
	require.NoError(t,
		os.WriteFile(filepath.Join(dir, "vedette.yaml"),
			[]byte("version: 1\nsentinel: {mode: \"off\"}\n"+strings.Repeat("\n", 11)+"permision: []\n"), 0o600))
	out, status := runIn(t, dir, nil, vedette, "validate")
	require.Equal(t, 3, status)
	require.Equal(t, shown(t, "vedette validate"), out)
}

// shown returns what the README shows as the output of a command.
func shown(t *testing.T, command string) string {
	t.Helper()
	for _, b := range fenced(t, "README.md") {
		if rest, ok := strings.CutPrefix(b.text, "$ "+command); ok {
			_, out, _ := strings.Cut(rest, "\n")
			return out
		}
	}
	t.Fatalf("README.md shows no %s", command)
	return ""
}

// A pause of the demo's process is told as the README shows it.
func pauseIsTold(t *testing.T, vedette string) {
	dir := filepath.Join(t.TempDir(), "demo")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a demo that never holds is ended
	demo := exec.CommandContext(ctx, vedette, "demo", "--hold", "--dir", dir)
	demo.Cancel = func() error { return demo.Process.Signal(os.Interrupt) }
	demo.WaitDelay = 20 * time.Second
	printed, err := demo.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, demo.Start())
	ended := make(chan struct{})
	held := make(chan struct{})
	go func() {
		defer close(ended)
		waiting := true
		for lines := bufio.NewScanner(printed); lines.Scan(); {
			if waiting && strings.Contains(lines.Text(), "holding until you interrupt it") {
				close(held)
				waiting = false
			}
		}
	}()
	defer func() {
		cancel()
		<-ended
		_ = demo.Wait() // interrupted, as it should be
	}()
	select {
	case <-held:
	case <-ended:
		t.Fatal("the demo ended and did not hold")
	}
	out, status := runIn(t, dir, nil, vedette, "pause", "--user", "ann")
	require.Zero(t, status, out)
	require.Equal(t, steady(shown(t, "vedette pause --user ann")), steady(out))
	out, status = runIn(t, dir, nil, vedette, "pause", "--lift", "--user", "ann")
	require.Zero(t, status, out)
}

// The files of docs/skills.md are written, and its commands run, in the page's order; each
// prints what the page shows. A line that ends in … stands for what varies behind it.
func skillsAreTriedOut(t *testing.T, vedette string) {
	dir, files, commands := t.TempDir(), 0, 0
	env := []string{"PATH=" + filepath.Dir(vedette) + string(os.PathListSeparator) + os.Getenv("PATH")}
	for _, b := range fenced(t, "docs/skills.md") {
		switch b.lang {
		case "yaml":
			first, _, _ := strings.Cut(b.text, "\n")
			name, ok := strings.CutPrefix(first, "# ")
			require.True(t, ok, "%s: name the file in the first line", b.at())
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(b.text), 0o600))
			files++
		case "console":
			for _, call := range strings.Split("\n"+b.text, "\n$ ")[1:] {
				command, want, _ := strings.Cut(call, "\n")
				commands++
				if command == "go build -o vedette ./cmd/vedette" {
					continue // what vedette was built with
				}
				out, _ := runIn(t, dir, env, "sh", "-c", command)
				require.Regexp(t, shownPattern(want), out, "%s: %s", b.at(), command)
			}
		default:
			t.Errorf("%s: say yaml or console, so that the block is tried", b.at())
		}
	}
	require.Equal(t, []int{4, 8}, []int{files, commands})
}

// The explanation that docs/rules.md shows is what its commands print.
func explanationIsShown(t *testing.T, vedette string) {
	shown := 0
	for _, b := range fenced(t, "docs/rules.md") {
		if b.lang != "console" {
			continue
		}
		var commands []string
		want := b.text
		for strings.HasPrefix(want, "$ ") {
			command, rest, _ := strings.Cut(want, "\n")
			commands, want = append(commands, strings.TrimPrefix(command, "$ ")), rest
		}
		env := []string{"PATH=" + filepath.Dir(vedette) + string(os.PathListSeparator) + os.Getenv("PATH")}
		out, status := runIn(t, ".", env, "sh", "-c", strings.Join(commands, " && "))
		require.Zero(t, status, out)
		require.Regexp(t, shownPattern(want), out, b.at())
		shown++
	}
	require.Equal(t, 1, shown)
}

// shownPattern is the pattern of an output that a page shows.
func shownPattern(want string) string {
	if want = strings.TrimSpace(want); want == "" {
		return ""
	}
	pattern := "^"
	for line := range strings.SplitSeq(want, "\n") {
		start, varies := strings.CutSuffix(line, "…")
		pattern += regexp.QuoteMeta(start)
		if varies {
			pattern += "(?s:.*)"
			continue
		}
		pattern += "\n"
	}
	return pattern
}

// commandLine finds calls of vedette in a page: in console blocks and in code.
var commandLine = regexp.MustCompile("(?m)(?:^\\$ |\\| |`)vedette ((?:[a-z-]+ ?)+)([^`\n]*)")

// Each command and flag of vedette that a page names is there.
func commandsExist(t *testing.T, vedette string) {
	helps, checked := map[string]string{}, 0
	help := func(words []string) (string, []string) {
		for ; len(words) > 0; words = words[:len(words)-1] { // the last ones may be arguments
			key := strings.Join(words, " ")
			if _, asked := helps[key]; !asked {
				out, status := runIn(t, ".", nil, append([]string{vedette, "help"}, words...)...)
				if status != 0 || !strings.Contains(out, "vedette "+key) {
					out = ""
				}
				helps[key] = out
			}
			if helps[key] != "" {
				return helps[key], words
			}
		}
		return "", nil
	}
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range commandLine.FindAllSubmatch(text, -1) {
			text, words := help(strings.Fields(string(m[1])))
			require.NotEmpty(t, words, "%s names vedette %s, which is no command", page, m[1])
			call, _, _ := bytes.Cut(m[2], []byte(" # "))
			for _, flag := range regexp.MustCompile(`(?:^|\s)(--[a-z-]+)`).FindAllSubmatch(call, -1) {
				require.Contains(t, text, string(flag[1]), "%s: vedette %s has no %s", page, strings.Join(words, " "), flag[1])
			}
			checked++
		}
	}
	require.Greater(t, checked, 30)
}

// The page about rules lists the names of conditions as the package's comment does, whose
// examples are tested.
func TestRulesListTheNamesOfConditions(t *testing.T) {
	page, err := os.ReadFile("docs/rules.md")
	require.NoError(t, err)
	comment, err := os.ReadFile("sentinel/permission/doc.go")
	require.NoError(t, err)
	var want, got []string
	row := regexp.MustCompile(`(?m)^//\t(\S+)\s+(map|string|bool|list|timestamp|flow)\s+(.*)\n//\t\s+e\.g\. (.*)$`)
	for _, m := range row.FindAllStringSubmatch(string(comment), -1) {
		want = append(want, fmt.Sprintf("| `%s` | %s | %s | `%s` |", m[1], m[2], m[3], strings.ReplaceAll(m[4], "|", `\|`)))
	}
	_, table, _ := strings.Cut(string(page), "| name | type | holds | an example |\n|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	got = strings.Split(table, "\n")
	require.Greater(t, len(want), 15)
	require.Equal(t, want, got)
}

// Each link of a page into the repository leads to a file.
func TestPagesLinkToFiles(t *testing.T) {
	links, checked := regexp.MustCompile(`\]\(([^)\s]+)\)`), 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range links.FindAllSubmatch(text, -1) {
			file, _, _ := strings.Cut(string(m[1]), "#")
			if file == "" || strings.Contains(file, "://") {
				continue
			}
			_, err := os.Stat(filepath.Join(filepath.Dir(page), file))
			require.NoError(t, err, "%s links to %s", page, file)
			checked++
		}
	}
	require.Greater(t, checked, 20)
}

// What CONTRIBUTING.md names by its path is there, and what it names in a file
// stands in that file.
func TestContributingIsTrue(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	require.NoError(t, err)
	paths := regexp.MustCompile("`(\\.?[a-z]+(?:/[a-z_.]+)+|[a-z_]+_test\\.go)`").FindAllSubmatch(text, -1)
	require.Greater(t, len(paths), 12)
	for _, m := range paths {
		_, err := os.Stat(string(m[1]))
		require.NoError(t, err, "CONTRIBUTING.md names %s", m[1])
	}
	in := regexp.MustCompile("`([A-Za-z]+)`\\s+in\\s+`([a-z/_]+\\.go)`").FindAllSubmatch(text, -1)
	require.GreaterOrEqual(t, len(in), 4)
	for _, m := range in {
		src, err := os.ReadFile(string(m[2]))
		require.NoError(t, err)
		require.Regexp(t, `\b`+string(m[1])+`\b`, string(src), "CONTRIBUTING.md says that %s is in %s", m[1], m[2])
	}
	for _, option := range []string{"-lint", "-long"} {
		script, err := os.ReadFile("test")
		require.NoError(t, err)
		require.Contains(t, string(script), option+")")
	}
	license, err := os.ReadFile("LICENSE")
	require.NoError(t, err)
	require.Contains(t, string(license), "Copyright 2026 The Vedette Authors")
}
