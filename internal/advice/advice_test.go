package advice_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/advice"
)

// What can't be read is told apart from what is wrong, with its remedy, and no message
// repeats the path.
func TestCheckReadable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, advice.CheckReadable(file, "name one"))
	for name, says := range map[string]string{
		dir:                          dir + " is a folder, not a file",
		filepath.Join(dir, "gone"):   filepath.Join(dir, "gone") + ": no such file",
		filepath.Join(file, "below"): filepath.Join(file, "below") + " can't be read: not a directory",
	} {
		var advised *advice.Error
		require.ErrorAs(t, advice.CheckReadable(name, "name one"), &advised)
		require.EqualError(t, advised, says)
		require.Equal(t, "name one", advised.Advice())
	}
}

// The cause of an error is found behind what wraps it, and an error without a path is
// its own cause.
func TestCauseOf(t *testing.T) {
	plain := errors.New("plain")
	require.Equal(t, plain, advice.CauseOf(plain))
	_, err := os.Open(filepath.Join(t.TempDir(), "gone"))
	require.NotContains(t, advice.CauseOf(fmt.Errorf("wrapped: %w", err)).Error(), "gone")
	require.ErrorIs(t, advice.CauseOf(err), fs.ErrNotExist)
}

// A configuration's mistakes keep their causes, and the remedy names the file.
func TestInvalidConfig(t *testing.T) {
	cause := errors.New("v.yaml:1:2: wrong")
	err := advice.InvalidConfig("v.yaml", cause)
	require.ErrorIs(t, err, cause)
	require.EqualError(t, err, "the configuration has mistakes\nv.yaml:1:2: wrong")
	var advised *advice.Error
	require.ErrorAs(t, err, &advised)
	require.Equal(t, "vedette validate v.yaml checks it again", advised.Todo)
}
