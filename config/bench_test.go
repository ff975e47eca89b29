package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// BenchmarkLoad500Skills loads 500 skills from 50 files, compiling each schema.
func BenchmarkLoad500Skills(b *testing.B) {
	dir := b.TempDir()
	require.NoError(b, os.WriteFile(filepath.Join(dir, "vedette.yaml"),
		[]byte("version: 1\nskills: {include: ['skills/**/*.yaml']}\npermissions: [{skill: d1.*, then: ask}]\n"), 0o600))
	require.NoError(b, os.Mkdir(filepath.Join(dir, "skills"), 0o700))
	for f := range 50 {
		var s strings.Builder
		s.WriteString("skills:\n")
		for i := range 10 {
			fmt.Fprintf(&s, `  - name: d%d.a%d
    description: Send an email from the user's mailbox.
    effect: irreversible
    parameters:
      type: object
      required: [to, subject, body]
      additionalProperties: false
      properties:
        to:      {type: string, format: email, x-target: true}
        subject: {type: string, maxLength: 200}
        body:    {type: string, x-content: true}
    timeout: 30s
    run: {http: {method: POST, url: "https://mail.internal/send"}}
`, f, i)
		}
		require.NoError(b, os.WriteFile(filepath.Join(dir, "skills", fmt.Sprintf("s%02d.yaml", f)), []byte(s.String()), 0o600))
	}
	b.ReportAllocs()
	for b.Loop() {
		c, err := config.Load(filepath.Join(dir, "vedette.yaml"), config.Options{Env: env(nil)})
		if err != nil || len(c.Skills) != 500 {
			b.Fatal(err)
		}
	}
}
