package guard_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/guard"
	"github.com/vedette-dev/vedette/sentinel/touch"
)

// What lifts a pause, and erases or opens what is kept, is never an agent's to
// run, however it is started; what only reads configurations and cases is.
func TestOperatorsCommands(t *testing.T) {
	b := core(t)
	for _, line := range []string{
		"vedette pause --lift --all", "vedette pause", "/usr/local/bin/vedette pause --lift --user eve", "./vedette pause --lift --all",
		"VEDETTE.EXE pause --lift --all",
		"cd /srv/app && vedette pause --lift --all", "sudo -u ann vedette pause --all", "env A=b nohup vedette pause --lift --all &",
		"timeout 5 vedette pause --lift --all",
		"echo y | vedette journal purge --user ann", "vedette journal purge --user ann --yes", "vedette ledger show --values X",
		"vedette habits revoke --user ann", "vedette habits list --json", "$UNKNOWN habits revoke 3f9a",
		"vedette approvals approve 3f9a --digest d", "vedette approval deny 3f9a", "vedette approvals show 3f9a --json",
		"setsid sh -c 'sleep 3; vedette approvals approve 3f9a' &", "$UNKNOWN approvals approve 3f9a",
		"vedette ledger show X --values=true", "vedette ledger --db F show X --values",
		"vedette --config F pause --lift --all", "vedette --config=F pause --lift --all", "vedette -- pause --lift",
		"vedette 'pause' --lift --all", `v\edette pau\se --lift --all`, `"vedette" "pause" --lift --all`,
		"sh -c 'vedette pause --lift --all'", "bash -c \"vedette pause --lift --all\"", "eval vedette pause --lift --all",
		"V=vedette; $V pause --lift --all", "P=pause; vedette $P --lift --all",
		"$UNKNOWN pause --lift --all", "$(which vedette) pause --lift --user=eve", "`command -v vedette` journal purge --user ann",
		"vedette $SUB --lift --all", "vedette \"$(cat sub)\"", "ved*tte pause --lift --all", "/usr/local/bin/v?dette pause --lift --all",
		"alias v='vedette pause --lift --all'", "f() { vedette pause --lift --all; }; f", "true && (vedette pause --lift --all)",
		"xargs vedette pause --lift < f", "find . -exec vedette pause --lift --all \\;", "echo --all | xargs vedette pause --lift",
		"echo 'vedette pause --lift --all' | sh", "python3 -c 'import os; os.system(\"vedette pause --lift --all\")'",
		"python3 -c 'import subprocess; subprocess.run([\"vedette\",\"pause\",\"--lift\",\"--all\"])'", "someprogram vedette pause --lift --all",
		"tmux new -d 'vedette pause --lift --all'",
		"cp /usr/local/bin/vedette v && ./v pause --lift --all", "ln -s /usr/local/bin/vedette v; ./v pause --lift --all",
		"trap 'vedette pause --lift --all' EXIT", "vedette ledger show $ID",
		"ssh localhost vedette pause --lift --all", "setsid -f vedette pause --lift --all", "(vedette pause --lift --all &)",
		"exec vedette pause --lift --all",
	} {
		v := b.shell(t, line)
		require.Equal(t, sentinel.Deny, v.Outcome, line)
		require.Equal(t, guard.CodeOperator, v.Code, line)
		require.Contains(t, v.Reason, "operator", line)
	}
	for _, line := range []string{
		"vedette validate", "vedette validate pause", "vedette check --config vedette.yaml", "vedette eval --cases c.jsonl", "vedette version",
		"vedette help pause", "vedette habits --help", "vedette pause --help", "vedette ledger list", "vedette ledger verify",
		"vedette ledger show X",
		"vedette lint skills/x.yaml", "vedette explain --config F", "echo vedette pause --lift --all", "grep -r 'vedette pause' docs",
		"git commit -m 'docs: vedette pause --lift'", "man vedette", "which vedette", "pause --lift --all", "docker pause web",
		"kubectl rollout pause deploy/x", "vedettes pause x",
		`for f in a.yaml b.yaml; do vedette validate "$f"; done`,
	} {
		require.Equal(t, sentinel.Allow, b.shell(t, line).Outcome, "%s: %+v", line, b.shell(t, line))
	}
}

// The running program is known by its own name and by where a name leads.
func TestOwnProgram(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "w"), 0o700))
	exe := filepath.Join(dir, "agentd")
	require.NoError(t, os.WriteFile(exe, []byte("x"), 0o700))
	require.NoError(t, os.Symlink(exe, filepath.Join(dir, "w", "tool")))
	b := setup(t, guard.Options{Env: touch.Env{Root: filepath.Join(dir, "w"), Home: "/home/alice", Program: exe}})
	for _, line := range []string{
		"agentd pause --lift --all", exe + " pause --lift --all", "../agentd pause --lift --all", "./tool pause --lift --all",
		"sudo ./tool journal purge --user ann",
		"agen?d pause --lift --all",
	} {
		require.Equal(t, guard.CodeOperator, b.shell(t, line).Code, strings.ReplaceAll(line, dir, ""))
	}
	require.NotEqual(t, guard.CodeOperator, b.shell(t, "./other pause --lift --all").Code)
	require.NotEqual(t, guard.CodeOperator, b.shell(t, "agentd serve").Code)
}
