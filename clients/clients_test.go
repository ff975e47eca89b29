package clients_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// agents are the programs of the frameworks.
var agents = []agent{
	{name: "openai-agents", command: inPython("agent_openai.py"), keeps: true},
	{name: "langchain", command: inPython("agent_langchain.py")},
	{name: "langchain-async", command: inPython("agent_langchain.py"), env: []string{"ASYNC=1"}},
	{name: "ai-sdk", command: inNode("agent.js")},
	{name: "ai-sdk-approval", command: inNode("agent.js"), env: []string{"APPROVES=1"}, interrupts: true},
	{name: "ai-sdk-approval-stream", command: inNode("agent.js"), env: []string{"APPROVES=1", "STREAMS=1"}, interrupts: true},
}

func inNode(file string) func(*rig) []string {
	return func(r *rig) []string { return []string{r.node, filepath.Join(r.built, "dist", "test", file)} }
}

func inPython(file string) func(*rig) []string {
	return func(r *rig) []string { return []string{r.python, filepath.Join("python", "tests", file)} }
}

// Each framework's real package runs what is allowed, as it is allowed, and nothing else.
func TestFrameworks(t *testing.T) {
	r := newRig(t)
	r.build()
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			t.Run("allowed", func(t *testing.T) { r.allowed(t, a) })
			t.Run("denied", func(t *testing.T) { r.denied(t, a) })
			t.Run("approved", func(t *testing.T) { r.approved(t, a) })
			t.Run("not approved", func(t *testing.T) { r.notApproved(t, a) })
			t.Run("changed", func(t *testing.T) { r.changed(t, a) })
			t.Run("no answer", func(t *testing.T) { r.noAnswer(t, a) })
		})
	}
}

// build compiles the client for TypeScript and its test programs, beside the packages that it finds
// in node_modules above it.
func (r *rig) build() {
	r.t.Helper()
	var err error
	r.built, err = os.MkdirTemp(filepath.Join(folder(r.t), "node"), "client-")
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = os.RemoveAll(r.built) })
	for _, name := range []string{"src", "test"} {
		require.NoError(r.t, os.CopyFS(filepath.Join(r.built, name), os.DirFS(filepath.Join("typescript", name))))
	}
	for _, name := range []string{"package.json", "tsconfig.json"} {
		raw, err := os.ReadFile(filepath.Join("typescript", name))
		require.NoError(r.t, err)
		require.NoError(r.t, os.WriteFile(filepath.Join(r.built, name), raw, 0o600))
	}
	for _, project := range []string{".", "test"} {
		tsc := exec.CommandContext(r.t.Context(), r.node, filepath.Join(folder(r.t), "node", "node_modules", "typescript", "bin", "tsc"), "-p",
			project)
		tsc.Dir = r.built
		r.must(tsc)
	}
}

// An allowed call runs once and is reported.
func (r *rig) allowed(t *testing.T, a agent) {
	before := len(r.records("outcome"))
	said, letters := r.start(t, a, "bob@example.com", r.url, 0).end(t)
	require.Equal(t, []string{"bob@example.com: the figures"}, letters)
	require.Contains(t, said, "I read: sent to bob@example.com")
	r.reported(t, before, "ok")
}

// reported says that one more outcome is on record than before, and which.
func (r *rig) reported(t *testing.T, before int, outcome string) {
	t.Helper()
	list := r.records("outcome")
	require.Len(t, list, before+1)
	require.Equal(t, outcome, list[0].Outcome)
	require.Equal(t, "tool.send_email", list[0].Skill)
}

// A denied call does not run, and the model reads why.
func (r *rig) denied(t *testing.T, a agent) {
	before := len(r.records("outcome"))
	said, letters := r.start(t, a, "mallory@evil.example", r.url, 0).end(t)
	require.Empty(t, letters)
	require.Contains(t, said, "The call was not run (denied): strangers get no mail")
	require.Len(t, r.records("outcome"), before)
	require.Equal(t, "deny", r.records("decision")[0].Outcome)
}

// A call that a person approves while the agent waits runs.
func (r *rig) approved(t *testing.T, a agent) {
	before := len(r.records("outcome"))
	one := r.start(t, a, "pat@partner.example", r.url, 300)
	r.approve()
	one.resume(t)
	said, letters := one.end(t)
	require.Equal(t, []string{"pat@partner.example: the figures"}, letters)
	require.Contains(t, said, "I read: sent to pat@partner.example")
	r.reported(t, before, "ok")
}

// A call that a person denies does not run, and one that nobody answers in time doesn't either.
func (r *rig) notApproved(t *testing.T, a agent) {
	one := r.start(t, a, "pat@partner.example", r.url, 300)
	r.answer("deny")
	one.resume(t)
	said, letters := one.end(t)
	require.Empty(t, letters)
	require.Contains(t, said, "The call was not run (denied)")

	one = r.start(t, a, "sue@partner.example", r.url, 0, "CONVERSATION="+t.Name()+"-2")
	one.resume(t)
	said, letters = one.end(t)
	require.Empty(t, letters)
	require.Contains(t, said, "The call was not run: it waits for a person's approval")
	r.answer("deny")
}

// What runs are the arguments that were allowed; where a framework can't change them, nothing runs.
func (r *rig) changed(t *testing.T, a agent) {
	before := len(r.records("outcome"))
	said, letters := r.start(t, a, "club@example.com", r.url, 0).end(t)
	if a.keeps {
		require.Empty(t, letters)
		require.Contains(t, said, "The call was not run: a rule changes its arguments")
		r.reported(t, before, "failed")
		return
	}
	require.Equal(t, []string{"club@example.com: signed"}, letters)
	r.reported(t, before, "ok")
}

// Without an answer of the server, or with one that can't be read, nothing runs.
func (r *rig) noAnswer(t *testing.T, a agent) {
	before := len(r.records("decision"))
	for name, url := range map[string]string{
		"down":       fmt.Sprintf("http://127.0.0.1:%d", freePort(t)),
		"no JSON":    answering(t, http.StatusOK, "allowed"),
		"no warrant": answering(t, http.StatusOK, `{"id":"call-1","state":"allowed","arguments":{"to":"bob@example.com","body":"x"}}`),
		"not 200": answering(t, http.StatusCreated,
			`{"id":"call-1","state":"allowed","warrant":"w","arguments":{"to":"bob@example.com","body":"x"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			said, letters := r.start(t, a, "bob@example.com", url, 0).end(t)
			require.Empty(t, letters)
			require.Contains(t, said, "I read: ")
			require.Regexp(t, "nothing may run|was not run", said)
		})
	}
	require.Len(t, r.records("decision"), before)
}

// An agent of the OpenAI Agents SDK is interrupted by a call that waits for a person, and goes on
// with it once the person has said yes to Vedette. The SDK's own yes alone lets nothing run.
func TestInterruptedRun(t *testing.T) {
	r := newRig(t)
	for name, answered := range map[string]bool{"approved": true, "not answered": false} {
		t.Run(name, func(t *testing.T) {
			one := r.start(t, agents[0], "pat@partner.example", r.url, 0, "INTERRUPTS=1")
			one.interrupts = true
			if answered {
				r.approve()
			}
			one.resume(t)
			said, letters := one.end(t)
			require.Contains(t, said, "interrupted\n")
			if answered {
				require.Equal(t, []string{"pat@partner.example: the figures"}, letters)
				return
			}
			require.Empty(t, letters)
			require.Contains(t, said, "waits for a person's approval")
			r.answer("deny")
		})
	}
}

// The clients take nothing for a yes but an answer that is one.
func TestHostileAnswers(t *testing.T) {
	t.Run("python", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(folder(t), "venv", "bin", "python"), "-m", "pytest", "-q", "-p",
			"no:cacheprovider", "tests")
		cmd.Dir = "python"
		cmd.Env = append(os.Environ(), "PYTHONPATH=src", "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Regexp(t, `[1-9][0-9]* passed`, string(out))
	})
	t.Run("typescript", func(t *testing.T) {
		r := &rig{t: t, node: filepath.Join(folder(t), "node", "node_modules", ".bin", "node")}
		r.build()
		cmd := exec.CommandContext(t.Context(), r.node, "--test", filepath.Join(r.built, "dist", "test", "gate.test.js"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "fail 0")
		require.Regexp(t, `pass [1-9]`, string(out))
	})
}
