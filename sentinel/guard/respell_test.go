package guard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/guard"
)

// attacks are words of commands that the core refuses.
var attacks = [][]string{
	{"rm", "-rf", "/"}, {"rm", "-r", "-f", "/home/alice"}, {"rm", "--recursive", "/etc"}, {"mkfs.ext4", "/dev/sda1"},
	{"dd", "if=/dev/zero", "of=/dev/sda"}, {"chmod", "-R", "777", "/"}, {"chown", "-R", "nobody", "/usr"}, {"mv", "/etc", "/tmp/x"},
	{"cat", "/etc/shadow"}, {"cp", "/home/alice/.ssh/id_rsa", "x"}, {"find", "/", "-delete"}, {"tee", "/dev/sda"}, {"kill", "-9", "-1"},
}

// spell writes a word in another way that means the same to a shell.
func spell(t *rapid.T, w string) string {
	switch rapid.IntRange(0, 6).Draw(t, "spelling") {
	case 0:
		return "'" + w + "'"
	case 1:
		return `"` + w + `"`
	case 2:
		i := rapid.IntRange(0, len(w)-1).Draw(t, "at")
		return w[:i] + `\` + w[i:]
	case 3:
		i := rapid.IntRange(1, len(w)).Draw(t, "at")
		return w[:i] + `""` + w[i:]
	case 4:
		var b strings.Builder
		for _, c := range []byte(w) {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
		return "$'" + b.String() + "'"
	case 5:
		return "$(printf %s '" + w + "')"
	}
	return w
}

// wrap puts a command line into another that runs it.
func wrap(t *rapid.T, line string) string {
	quoted, err := syntax.Quote(line, syntax.LangBash)
	require.NoError(t, err)
	forms := []string{
		"sudo " + line, "env A=1 " + line, "nohup nice -n 3 " + line, "command " + line, "timeout 5 " + line, "busybox " + line,
	}
	around := []string{
		"bash -c " + quoted, "eval " + quoted, "( " + line + " )", "{ " + line + "; }", "true && " + line, "ls; " + line + " &",
		"if true; then " + line + "; fi",
		"echo " + quoted + " | sh", "f() { " + line + "; }; f", "x=$( " + line + " )", "! " + line, "for i in 1; do " + line + "; done",
		"sudo sh -c " + quoted, "bash <<< " + quoted, "while :; do " + line + "; done",
	}
	if strings.HasPrefix(line, "(") || strings.ContainsAny(line[:1], "{!") || strings.Contains(line, ";") || strings.Contains(line,
		"&") || strings.Contains(line, "|") || strings.HasPrefix(line, "x=") {
		return rapid.SampledFrom(around).Draw(t, "wrap")
	}
	return rapid.SampledFrom(append(forms, around...)).Draw(t, "wrap")
}

// However a refused command is respelt so that it does the same, it is never
// allowed.
func TestRespellingNeverAllows(t *testing.T) {
	b := core(t)
	rapid.Check(t, func(t *rapid.T) {
		words := append([]string(nil), rapid.SampledFrom(attacks).Draw(t, "attack")...)
		prefix := ""
		for i, w := range words {
			words[i] = spell(t, w)
			if rapid.IntRange(0, 5).Draw(t, "variable") == 0 {
				prefix += fmt.Sprintf("v%d=%s; ", i, words[i])
				words[i] = fmt.Sprintf("$v%d", i)
			}
		}
		line := prefix + strings.Join(words, rapid.SampledFrom([]string{" ", "  ", "\t", " \\\n "}).Draw(t, "gap"))
		for range rapid.IntRange(0, 3).Draw(t, "depth") {
			line = wrap(t, line)
		}
		require.NotEqual(t, sentinel.Allow, b.shell(t, line).Outcome, line)
	})
}

// However a forbidden path is respelt so that some receiver opens the same
// file, it is refused.
func TestRespeltPathsNeverAllow(t *testing.T) {
	b := core(t)
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom([]string{"/etc/shadow", "/home/alice/.ssh/id_rsa", "/root/x", "/proc/1/environ", "/home/alice/.aws/credentials",
			"/dev/sda"}).Draw(t, "path")
		for range rapid.IntRange(0, 4).Draw(t, "steps") {
			p = respell(t, p)
		}
		v := b.check(t, "test.read", map[string]any{rapid.SampledFrom([]string{"path", "note"}).Draw(t, "arg"): p})
		require.Equal(t, sentinel.Deny, v.Outcome, p)
	})
}

func respell(t *rapid.T, p string) string {
	escaped := strings.ContainsAny(p, `%\`)
	switch n := rapid.IntRange(0, 7).Draw(t, "step"); {
	case n == 0:
		return strings.Replace(p, "/", "/./", 1)
	case n == 1:
		return strings.ReplaceAll(p, "/", "//")
	case n == 2 && !escaped:
		return "/tmp/../" + p
	case n == 3:
		return strings.ToUpper(p)
	case n == 4 && strings.Count(p, "%25") < 2:
		i := rapid.IntRange(0, len(p)-1).Draw(t, "at")
		return p[:i] + fmt.Sprintf("%%%02x", p[i]) + p[i+1:]
	case n == 5 && !escaped:
		return strings.Repeat("../", 9) + p
	case n == 6 && !escaped:
		return "/" + strings.ReplaceAll(p[1:], "/", `\`)
	case n == 7:
		return p + "%00.png"
	}
	return p + "/"
}

// asked are words of commands that a person is asked about.
var asked = [][]string{
	{"rm", "-rf", "."}, {"terraform", "destroy"}, {"psql", "-c", "DROP TABLE t"}, {"redis-cli", "flushall"}, {"docker", "volume", "prune"},
	{"rm", "/etc/motd"}, {"cat", "/etc/security/access.conf"}, {"cp", "x", "/usr/bin/ls"}, {"curl", "http://10.0.0.1/"}, {"crontab", "x"},
}

// Adding an argument never raises the guard's answer.
func TestMoreArgumentsNeverRaise(t *testing.T) {
	b := setup(t, guard.Options{Roots: []string{"/workspace"}, Env: home()})
	rapid.Check(t, func(t *rapid.T) {
		skill := rapid.SampledFrom([]string{"test.run", "test.read", "test.write"}).Draw(t, "skill")
		args := map[string]any{}
		last := sentinel.Allow
		for _, n := range rapid.Permutation(argumentNames).Draw(t, "names") {
			args[n] = rapid.SampledFrom(argumentPool).Draw(t, n)
			got := b.check(t, skill, args).Outcome
			require.LessOrEqual(t, got, last, args)
			last = got
		}
	})
}

// However a command that is asked about is respelt, it is not allowed; nor is
// one that is refused.
func TestRespellingNeverRaises(t *testing.T) {
	b := core(t)
	rapid.Check(t, func(t *rapid.T) {
		words := append([]string(nil), rapid.SampledFrom(asked).Draw(t, "command")...)
		plain, err := quoteAll(words)
		require.NoError(t, err)
		before := b.shell(t, plain).Outcome
		require.Equal(t, sentinel.Ask, before, plain)
		for i, w := range words {
			words[i] = spell(t, w)
			if strings.ContainsAny(w, " ") && words[i] == w {
				words[i] = "'" + w + "'"
			}
			if strings.Contains(w, " ") && strings.Contains(words[i], `\`) && !strings.HasPrefix(words[i], "$'") {
				words[i] = `"` + w + `"`
			}
			if strings.Contains(w,
				" ") && (strings.HasPrefix(words[i], "$(") || strings.HasSuffix(words[i], `""`) || !strings.ContainsAny(words[i][:1], `'"$`)) {
				words[i] = "'" + w + "'"
			}
		}
		line := strings.Join(words, " ")
		for range rapid.IntRange(0, 3).Draw(t, "depth") {
			line = wrap(t, line)
		}
		require.LessOrEqual(t, b.shell(t, line).Outcome, before, line)
	})
}

func quoteAll(words []string) (string, error) {
	out := make([]string, len(words))
	for i, w := range words {
		q, err := syntax.Quote(w, syntax.LangBash)
		if err != nil {
			return "", err
		}
		out[i] = q
	}
	return strings.Join(out, " "), nil
}

var (
	argumentPool = []string{
		"/etc/shadow", "notes.md", "http://10.0.0.1/", "https://example.com", "a; id", "rm -rf /", "rm -rf .", "ls -la", "psql -c 'drop table t'",
		"curl http://169.254.169.254/", "echo \"x", "$X y", "~/.bashrc", "terraform.tfstate", "hello there", "echo x > /etc/cron.d/y", "",
	}
	argumentNames = []string{"command", "path", "note", "body", "password", "other"}
)
