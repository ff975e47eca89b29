package main

import (
	"bufio"
	"context"
	"go/format"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
)

// TestMain lets the test binary stand in for the program.
func TestMain(m *testing.M) {
	if os.Getenv("QUICKSTART_AS_PROGRAM") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// script plays a turn in which an agent sends a letter.
const script = `
rules:
  - when: {has_tool: dispatch_agent, tool_results: 0}
    reply: {tool_calls: [{name: dispatch_agent, arguments: {agent_id: writer, mission: write to bob@example.com, skills: [mail.send]}}]}
  - when: {has_tool: dispatch_agent, tool_results: 1}
    reply: {tool_calls: [{name: get_agent_results, arguments: {mode: wait_all, timeout_seconds: 60}}]}
  - when: {has_tool: dispatch_agent, tool_results: 2, tool_contains: sent to bob}
    reply: {content: "Bob knows that you are late."}
  - when: {has_tool: dispatch_agent, tool_results: 2}
    reply: {content: "Nothing was sent."}
  - when: {has_tool: request_help, tool_results: 0}
    reply: {tool_calls: [{name: use_skill, arguments: {skill: mail.send, arguments: {To: bob@example.com, Text: I am late}}}]}
  - when: {has_tool: request_help, tool_contains: sent to bob}
    reply: {content: "sent to bob"}
  - when: {has_tool: request_help}
    reply: {content: "refused"}
  - reply: {content: '{"decision":"approve","reason":"asked for"}'}
`

// runQuickstart runs the program in a folder with its configuration, and answers its question.
func runQuickstart(t *testing.T, baseURL, answer string) string {
	t.Helper()
	dir := t.TempDir()
	yaml, err := os.ReadFile("vedette.yaml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "vedette.yaml"), append(yaml, "sentinel: {canaries: {every: 0s}}\n"...), 0o600))
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "Write to bob@example.com that I am late")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "QUICKSTART_AS_PROGRAM=1", "OPENAI_BASE_URL="+baseURL)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	asks, err := cmd.StderrPipe()
	require.NoError(t, err)
	var out strings.Builder
	cmd.Stdout = &out
	require.NoError(t, cmd.Start())
	var asked strings.Builder
	for r := bufio.NewReader(asks); err == nil; {
		var b byte
		if b, err = r.ReadByte(); err == nil {
			asked.WriteByte(b)
		}
		if strings.HasSuffix(asked.String(), "[y/N] ") {
			_, err = io.WriteString(in, answer+"\n")
			asked.WriteString(answer + "\n")
		}
	}
	require.Equal(t, 1, strings.Count(asked.String(), "[y/N]"), asked.String())
	require.Contains(t, asked.String(), "mail.send")
	require.NoError(t, cmd.Wait())
	return out.String()
}

// The program asks before it sends, and tells what came of it.
func TestQuickstart(t *testing.T) {
	s, err := scripted.Load([]byte(script))
	require.NoError(t, err)
	server, err := scripted.Serve(context.WithoutCancel(t.Context()), s, scripted.Options{})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	require.Equal(t, "Bob knows that you are late.", runQuickstart(t, server.BaseURL(), "y"))
	require.Equal(t, "Nothing was sent.", runQuickstart(t, server.BaseURL(), "n"))
}

// The program is 25 lines without imports, comments and blank lines, in gofmt's form.
func TestQuickstartIsShort(t *testing.T) {
	src, err := os.ReadFile("main.go")
	require.NoError(t, err)
	tidy, err := format.Source(src)
	require.NoError(t, err)
	require.Equal(t, string(tidy), string(src))
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "main.go", src, parser.ImportsOnly)
	require.NoError(t, err)
	imports := files.Position(file.Decls[0].End()).Line
	n := 1 // the package clause
	for _, line := range strings.Split(string(src), "\n")[imports:] {
		require.LessOrEqual(t, len(line), 140)
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	require.LessOrEqual(t, n, 25)
}
