package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// The secret of a client is read from a file of its owner's alone.
func TestClientSecret(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	read := func(text string, mode os.FileMode) (string, error) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.NoError(t, os.Chmod(file, mode))
		return readClientSecret(config.ServerSignIn{ClientID: "p", ClientSecretFile: file})
	}
	secret, err := read(" s3cret\n", 0o600)
	require.NoError(t, err)
	require.Equal(t, "s3cret", secret)
	for _, text := range []string{"", "\n", "CANARY\nb", "a\x00CANARY", strings.Repeat("x", 5000)} {
		_, err := read(text, 0o600)
		require.ErrorContains(t, err, "must hold the secret on one line")
		require.NotContains(t, err.Error(), "CANARY")
	}
	_, err = read("s3cret", 0o640)
	require.ErrorContains(t, err, "chmod 600")
	_, err = readClientSecret(config.ServerSignIn{ClientSecretFile: t.TempDir()})
	require.ErrorContains(t, err, "is no file")
	_, err = readClientSecret(config.ServerSignIn{ClientSecretFile: file + "-missing"})
	require.ErrorContains(t, err, "can't be read")
	secret, err = readClientSecret(config.ServerSignIn{ClientSecret: config.NewSecret("s")})
	require.NoError(t, err)
	require.Equal(t, "s", secret)
}
