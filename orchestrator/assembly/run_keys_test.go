package assembly_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// Editors and the reference know the keys that the ways to run read, and no
// others.
func TestRunKeysAreThoseThatAreRead(t *testing.T) {
	var doc struct {
		AnyOf []struct {
			Properties struct {
				Run struct {
					Properties map[string]struct {
						Properties map[string]any `json:"properties"`
					} `json:"properties"`
				} `json:"run"`
			} `json:"properties"`
		} `json:"anyOf"`
	}
	require.NoError(t, json.Unmarshal(config.SkillSchema(), &doc))
	block, tag := regexp.MustCompile(`(?s)type config struct \{.*?\n\}`), regexp.MustCompile("`json:\"([a-z_]+)")
	for kind, files := range map[string][]string{"http": {"run/http"}, "exec": {"run/exec"}, "builtin": {"builtin/files", "builtin/email"}} {
		var read []string
		for _, f := range files {
			src, err := os.ReadFile("../../skills/" + f + "/options.go")
			require.NoError(t, err)
			for _, m := range tag.FindAllStringSubmatch(block.FindString(string(src)), -1) {
				read = append(read, m[1])
			}
		}
		require.NotEmpty(t, read, kind)
		slices.Sort(read)
		require.Equal(t, read, slices.Sorted(maps.Keys(doc.AnyOf[0].Properties.Run.Properties[kind].Properties)), kind)
	}
}
