package programs_test

import (
	"testing"

	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

var benchLines = []string{
	"ls -la /tmp", "git status --short", "grep -rn TODO src", "cat README.md", "go test ./...", "rm -rf build", "cp -r a b",
	"bash -euo pipefail -c 'echo x'", "python3 -m pytest -q", "kubectl get pods -n web", "find . -name '*.go' -type f",
	"tar czf out.tgz src", "docker run --rm -it alpine sh", "sed -i s/a/b/ f.txt", "npm run build",
}

func BenchmarkReadWords(b *testing.B) {
	type command struct {
		name string
		args []programs.Word
	}
	var commands []command
	for _, l := range benchLines {
		name, args := splitWords(l)
		commands = append(commands, command{name, args})
		programs.ReadWords(name, args)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c := commands[i%len(commands)]
		programs.ReadWords(c.name, c.args)
	}
}
