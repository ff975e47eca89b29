package assembly_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/guard"
)

// An agent with a shell can't lift a pause: the owner's socket, where it is
// spelt, and the commands that speak to it are the core's, also those of the
// program that runs, whatever its name.
func TestGuardProtectsTheDoor(t *testing.T) {
	file := write(t, "")
	cfg := load(t, file)
	sock, dir := control.SocketPath(cfg.Ledger.Path), filepath.Dir(file)
	exe, err := os.Executable()
	require.NoError(t, err)
	for line, code := range map[string]string{
		"curl --unix-socket " + sock + ` -X DELETE http://x/v1/pauses -d '{"all":true}'`: guard.CodeProtected,
		"socat - UNIX-CONNECT:" + sock: guard.CodeProtected,
		"nc -U " + sock:                guard.CodeProtected,
		`python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect("` + sock + `")'`: guard.CodeProtected,
		`ruby -e 'UNIXSocket.new("` + sock + `")'`:                                               guard.CodeProtected,
		"cat " + sock:                guard.CodeProtected,
		"rm " + sock:                 guard.CodeProtected,
		"mv x " + sock:               guard.CodeProtected,
		"vedette pause --lift --all": guard.CodeOperator,
		"cd " + dir + " && vedette pause --lift --all": guard.CodeOperator,
		"vedette pause --lift --all --config " + file:  guard.CodeOperator,
		exe + " pause --lift --all":                    guard.CodeOperator,
		filepath.Base(exe) + " journal purge --user x": guard.CodeOperator,
	} {
		d := guarded(t, file, "shell.exec", map[string]any{"command": line})
		require.Equal(t, sentinel.Deny, d.Outcome, line)
		require.Equal(t, code, d.Code, line)
	}
	require.Equal(t, sentinel.Allow, guarded(t, file, "shell.exec", map[string]any{"command": "vedette check"}).Outcome)
}
