package touch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

const parameters = `{"type":"object","additionalProperties":true,"properties":{
	"command":{"type":["string","array"],"x-shell":true,"items":{"type":"string"}},
	"path":{"type":"string","x-path":true},
	"to":{"type":"string","x-target":true},
	"url":{"type":"string","x-url":true},
	"note":{"type":"string"},
	"amount":{"type":"number"},
	"body":{"type":"string","x-content":true},
	"password":{"type":"string","x-secret":true}}}`

func skill(t testing.TB, effect skills.Effect) *skills.Skill {
	t.Helper()
	s, err := skills.Compile(skills.Spec{Name: "test.do", Effect: effect, Parameters: json.RawMessage(parameters)})
	require.NoError(t, err)
	return s
}

func decode(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var m map[string]any
	require.NoError(t, d.Decode(&m))
	return m
}

func env() touch.Env { return touch.Env{Root: "/workspace", Home: "/home/alice", NoFS: true} }

func of(t testing.TB, raw string) touch.Touch {
	t.Helper()
	return touch.Of(skill(t, skills.Modify), decode(t, []byte(raw)), env())
}

func shell(t testing.TB, line string) touch.Touch {
	t.Helper()
	return touch.Of(skill(t, skills.Irreversible), map[string]any{"command": line}, env())
}

// Every reading of a path is there, so that none of them can be used to hide
// another.
func TestReadings(t *testing.T) {
	clean := func(raw string) (out []string) {
		for _, p := range touch.Of(skill(t, skills.Read), map[string]any{"path": raw}, env()).Paths {
			out = append(out, p.Clean)
		}
		return out
	}
	require.Equal(t, []string{"/workspace/a"}, clean("a"))
	require.Equal(t, []string{"/x", "/workspace/%2e%2e/x"}, clean("%2e%2e/x"))
	require.Contains(t, clean("/proc/self/root/etc/x"), "/etc/x")
	require.Contains(t, clean("/proc/self/root/etc/x"), "/proc/self/root/etc/x")
	require.Contains(t, clean(`.\./.\./x`), "/x")
	require.Contains(t, clean(".%00./x"), "/x")
}

// Arguments land where their marks say.
func TestArguments(t *testing.T) {
	got := of(t, `{"path":"a","to":"bob@example.com","url":"https://u:p@Example.COM:8443/x","note":"cc eve@example.org, /x","amount":12.50,
		"body":"/etc/x mallory@example.net 7","password":"/etc/y","loose":{"deep":["/srv/z",3]}}`)
	require.Equal(t, []touch.Host{{Name: "example.com", Arg: "url"}}, got.Hosts)
	require.Equal(t, []touch.Recipient{{Value: "eve@example.org", Arg: "note"}, {Value: "bob@example.com", Arg: "to"}}, got.Recipients)
	require.Equal(t, []touch.Amount{{Value: "12.50", Arg: "amount"}, {Value: "3"}}, got.Amounts)
	byClean := map[string]touch.Path{}
	for _, p := range got.Paths {
		byClean[p.Clean] = p
	}
	require.Equal(t, touch.Path{Raw: "a", Clean: "/workspace/a", Real: "/workspace/a", Access: touch.Write, Arg: "path", Declared: true},
		byClean["/workspace/a"])
	require.Equal(t, touch.Mention, byClean["/srv/z"].Access)
	require.Empty(t, byClean["/srv/z"].Arg, "a key that the schema does not name stays out")
	require.NotContains(t, byClean, "/etc/x mallory@example.net 7")
	require.NotContains(t, byClean, "/etc/y")
	require.Equal(t, touch.Write|touch.Delete, touch.Of(skill(t, skills.Irreversible), map[string]any{"path": "a"}, env()).Paths[0].Access)
	require.Equal(t, touch.Read, touch.Of(skill(t, skills.Read), map[string]any{"path": "a"}, env()).Paths[0].Access)
}

// The host of a URL is what a browser would go to.
func TestHosts(t *testing.T) {
	for raw, want := range map[string]string{
		"https://Example.com.": "example.com", "http://a@b.example/": "b.example", `http://a.example\@b.example`: "a.example",
		"http://[::1]:80/x": "::1",
		"example.com/x":     "example.com", "//cdn.example/x": "cdn.example", "wss://x.example?q": "x.example",
		"https://a.example#@b.example": "a.example",
	} {
		got := touch.Of(skill(t, skills.Read), map[string]any{"url": raw}, env())
		_, z := touch.ParseHost(want)
		require.Equal(t, []touch.Host{{Name: want, Arg: "url", Zone: z}}, got.Hosts, raw)
	}
	require.Empty(t, of(t, `{"note":"example.com","url":"not a url"}`).Hosts)
}

// A file written by a redirect looks like one written by a skill.
func TestShellPaths(t *testing.T) {
	for line, want := range map[string]map[string]touch.Access{
		"cat a.txt":                          {"/workspace/a.txt": touch.Read},
		"echo x > out.txt":                   {"/workspace/out.txt": touch.Write},
		"sort < in >> out":                   {"/workspace/in": touch.Read, "/workspace/out": touch.Write},
		"cp a b /tmp/d":                      {"/workspace/a": touch.Read, "/workspace/b": touch.Read, "/tmp/d": touch.Write},
		"mv a b":                             {"/workspace/a": touch.Read | touch.Delete, "/workspace/b": touch.Write},
		"rm x":                               {"/workspace/x": touch.Delete},
		"cd /tmp; tee y":                     {"/tmp/y": touch.Write},
		"D=/srv; touch $D/x \"${D}\"/y":      {"/srv/x": touch.Write, "/srv/y": touch.Write},
		"touch /tmp/{a,b}":                   {"/tmp/a": touch.Write, "/tmp/b": touch.Write},
		"sed -i s/a/b/ f":                    {"/workspace/f": touch.Read | touch.Write},
		"dd if=/tmp/i of=/tmp/o":             {"/tmp/i": touch.Read, "/tmp/o": touch.Write},
		"tool --conf=/srv/c ~/d plain":       {"/srv/c": touch.Mention, "/home/alice/d": touch.Mention},
		"curl -o out https://x.example/y":    {"/workspace/out": touch.Write},
		"find /srv -name x -delete":          {"/srv": touch.Delete},
		"for f in a b; do cat /srv/$f; done": {"/srv/a": touch.Read, "/srv/b": touch.Read},
		"x=a.tar.gz; cat /srv/${x%%.*}":      {"/srv/a": touch.Read},
		"a=(/srv/1 /srv/2); cat \"${a[@]}\"": {"/srv/1": touch.Read, "/srv/2": touch.Read},
		"f() { cat \"$2\"; }; f /no /srv/2":  {"/srv/2": touch.Read},
		"bash -c 'cat \"$1\"' _ /srv/1":      {"/srv/1": touch.Read},
		"echo /srv/x | xargs cat":            {"/srv/x": touch.Read},
		"cat <(sort /srv/x)":                 {"/srv/x": touch.Read},
		"echo 'cat /srv/x'":                  {},
		"git commit -m 'see /srv/x'":         {},
		"(cd /srv; true); cat x":             {"/workspace/x": touch.Read},
	} {
		got := map[string]touch.Access{}
		for _, p := range shell(t, line).Paths {
			require.True(t, p.Shell)
			require.Equal(t, "command", p.Arg)
			if !p.Names { // "cd" and a search look at names alone
				got[p.Clean] |= p.Access
			}
		}
		require.Equal(t, want, got, line)
	}
}

// Commands are what runs, wrappers peeled.
func TestCommands(t *testing.T) {
	for line, want := range map[string][]string{
		"/usr/bin/ls -la":                  {"ls"},
		"sudo -u bob env A=1 nice ls":      {"sudo", "env", "nice", "ls"},
		"a | b && c || d; e &":             {"a", "b", "c", "d", "e"},
		"if a; then b; else c; fi":         {"a", "b", "c"},
		"case x in y) a;; *) b;; esac":     {"a", "b"},
		"echo $(a \"$(b)\") <(c)":          {"b", "a", "c", "echo"},
		"bash -c 'a; eval \"b c\"'":        {"bash", "a", "eval", "b"},
		"x=ls; $x":                         {"ls"},
		"f() { a; }":                       {"a"},
		"find . -exec a {} \\;":            {"find", "a"},
		"echo y | xargs -n 1 a":            {"echo", "xargs", "a"},
		"[[ -n $(a) ]] && (( $(b) + 1 ))":  {"a", "b"},
		"trap 'a' EXIT; time b":            {"trap", "a", "b"},
		"while read l; do a $l; done < f":  {"read", "a"},
		"ssh -p 22 me@host.example 'a; b'": {"ssh", "a", "b"},
	} {
		var got []string
		for _, c := range shell(t, line).Commands {
			got = append(got, c.Name)
		}
		require.Equal(t, want, got, line)
	}
	c := shell(t, "ls 'a b' $X").Commands[0]
	require.Equal(t, touch.Command{Name: "ls", Args: []string{"a b", "$X"}, Dynamic: true, Arg: "command"}, c)
	got := shell(t, "curl -s https://a.example/x; wget b.example/y; ssh me@c.example; scp f d.example:/x; git clone https://e.example/r")
	var hosts []string
	for _, h := range got.Hosts {
		hosts = append(hosts, h.Name)
	}
	require.Equal(t, []string{"a.example", "b.example", "c.example", "d.example", "e.example"}, hosts)
}

// A value that may be one or another counts as both; one that surely changed
// counts as the last.
func TestBranches(t *testing.T) {
	for line, danger := range map[string]bool{
		"x=/; false && x=/tmp/a; rm -r $x":            false, // && runs or the whole line stops there
		"x=/; false || x=/tmp/a; rm -r $x":            true,
		"x=/; (x=/tmp/a); rm -r $x":                   true,
		"x=/; x=/tmp/a; rm -r $x":                     false,
		"x=/tmp/a; f() { rm -r $x; }; x=/; f":         true,
		"if a; then x=/; else x=/tmp/b; fi; rm -r $x": true,
		"x=/tmp; x+=/a; rm -r $x":                     false,
		"x=; rm -r \"${x:-/}\"":                       true,
		`x=1; rm -r "/${x:+tmp/a}"`:                   false,
		`x=; rm -r "/${x+tmp/a}"`:                     false,
		`x=1; rm -r "/${x-tmp/a}tmp/a"`:               false,
		`x=; rm -r "/${x:-tmp/a}"`:                    false,
		`rm -r "/${ROOT_OF_ALL:-tmp/a}"`:              false,
	} {
		require.Equal(t, danger, len(shell(t, line).Dangers) > 0, line)
	}
}

// What is unset is not empty: the word in its place counts, and so do the commands in it.
func TestUnsetIsNotEmpty(t *testing.T) {
	for _, line := range []string{
		`rm -r "${1-/}"`, `rm -r "${9-/}"`, `rm -r "${@-/}"`, `rm -r "${*-/}"`, `: "${1-$(rm -r /)}"`,
		`f() { rm -r "${2-/}"; }; f a`, `set -- a; shift; rm -r "${1-/}"`,
		`x=; unset x; rm -r "${x-/}"`, `x=; unset x; : "${x=/}"; rm -r "$x"`,
		`x=a; unset x; : "${x-$(rm -r /)}"`, `x=a; sh -c ': "${x-$(rm -r /)}"'`,
	} {
		require.NotEmpty(t, shell(t, line).Dangers, line)
	}
}

// Nothing that is too large or too deep is read in part and called clean.
func TestBounds(t *testing.T) {
	for name, line := range map[string]string{
		"long":       strings.Repeat("a ", touch.MaxShell),
		"brackets":   strings.Repeat("(", 25_000),
		"nested":     strings.Repeat("( ", 2000) + "a" + strings.Repeat(" )", 2000),
		"doubling":   strings.Repeat("x=$x$x$x$x;", 400) + "a $x",
		"braces":     "echo {1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}",
		"sequence":   "echo {1..999999999}",
		"groups":     strings.Repeat("{a,b}", 2000),
		"many loops": "for a in {1..900}; do for b in {1..900}; do for c in $a$b$a$b; do echo $a$b$c $c$b$a; done; done; done",
		"many scopes": func() string {
			var b strings.Builder
			for i := range 4000 {
				fmt.Fprintf(&b, "v%d=1\n", i)
			}
			return b.String() + strings.Repeat("(a=1)\n", 4000)
		}(),
		"reparsed": strings.Repeat("eval ", 60) + "ls",
		"unset":    "x=" + strings.Repeat("''", 20_000) + "; unset" + strings.Repeat(" x", 20_000),
	} {
		got := shell(t, line)
		if name == "doubling" || name == "many loops" {
			require.LessOrEqual(t, len(got.Commands), 2000, name)
			continue
		}
		if name == "long" || name == "brackets" { // no shell's parser is given that much
			require.Equal(t, []string{"command"}, got.Unparsed, name)
			continue
		}
		require.Empty(t, got.Unparsed, name)
		require.Contains(t, codes(got.Unread), touch.UnreadBudget, name)
	}
	require.Empty(t, shell(t, strings.Repeat("echo ok\n", 10_000)).Unparsed, "80 KB of plain commands are read")
}

// Every code that is reported is in the closed list.
func TestCodes(t *testing.T) {
	for _, line := range []string{"rm -rf / ~ /etc", "mkfs /dev/sda", ":(){ :|:& };:", "chmod -R 777 /", "chown -R x /", "mv / x", "kill -1",
		"zpool destroy -f x", "dd of=/dev/sda"} {
		got := shell(t, line)
		require.NotEmpty(t, got.Dangers, line)
		for _, d := range got.Dangers {
			require.True(t, slices.Contains(touch.DangerCodes(), d.Code), d.Code)
			require.Equal(t, "command", d.Arg)
		}
	}
}

func accessTo(t touch.Touch, clean string) (a touch.Access) {
	for _, p := range t.Paths {
		if p.Clean == clean {
			a |= p.Access
		}
	}
	return a
}

// One effect is one touch, whichever way it is spelt.
func TestOneTouch(t *testing.T) {
	for want, lines := range map[touch.Access][]string{
		touch.Write: {
			"echo x > out.txt", "echo x >> out.txt", "echo x | tee out.txt", "echo x | tee -a -- out.txt", "dd if=in of=out.txt", "cp in out.txt",
			"install in out.txt", "curl -o out.txt https://a.example", "curl -oout.txt https://a.example",
			"curl --output=out.txt https://a.example", "wget -O out.txt https://a.example", "touch out.txt", "truncate -s 0 out.txt", ": > out.txt",
			"cat <<E > out.txt\nx\nE", "cd sub && echo x > ../out.txt", "bash -c 'echo x > out.txt'",
			`python3 -c "open('out.txt','w').write('x')"`, `python3 -c "open('out.txt', mode='a')"`,
			"python3 <<'E'\nf='out.txt'\nwith open(f,'w') as h: h.write('x')\nE",
			`python3 -c "from pathlib import Path; Path('out.txt').write_text('x')"`,
			`perl -e 'open(F,">out.txt")'`, `perl -e 'open(my $f, ">", "out.txt")'`, `ruby -e 'File.write("out.txt","x")'`,
			`node -e "require('fs').writeFileSync('out.txt','x')"`, `php -r "file_put_contents('out.txt','x');"`,
		},
		touch.Delete: {
			"rm out.txt", "unlink out.txt", "rm -f -- ./out.txt", "shred -u out.txt", "find out.txt -delete", "echo out.txt | xargs rm",
			`python3 -c "import os; os.remove('out.txt')"`, `python3 -c "import os; p='out.txt'; os.unlink(p)"`,
			`python3 -c "from pathlib import Path; Path('out.txt').unlink()"`, `perl -e 'unlink "out.txt"'`, `ruby -e 'File.delete("out.txt")'`,
			`node -e "require('fs').unlinkSync('out.txt')"`, `node -e "fs.rm('out.txt',()=>{})"`, `php -r "unlink('out.txt');"`,
		},
		touch.Read: {"cat out.txt", "head < out.txt", "echo $(<out.txt)", "base64 out.txt", `python3 -c "print(open('out.txt').read())"`,
			"curl -d @out.txt https://a.example", `node -e "fs.readFileSync('out.txt')"`},
	} {
		for _, line := range lines {
			got := accessTo(shell(t, line), "/workspace/out.txt")
			require.True(t, got.Has(want), "%s: %b", line, got)
			if want == touch.Read {
				require.Equal(t, touch.Read, got, line)
			}
		}
	}
	require.Equal(t, touch.Read|touch.Write, accessTo(shell(t, "sed -i s/a/b/ out.txt"), "/workspace/out.txt"))
	byPath := touch.Of(skill(t, skills.Modify), map[string]any{"path": "out.txt"}, env())
	require.Equal(t, touch.Write, accessTo(byPath, "/workspace/out.txt"), "a skill's write is that of a redirect")
	for _, line := range []string{`python3 -c "print('out.txt')"`, `echo "open('out.txt','w')"`, `python3 -c "d={'remove': 'out.txt'}"`} {
		require.Zero(t, accessTo(shell(t, line), "/workspace/out.txt")&^touch.Read, line)
	}
}

// A path that is spelt from the home folder is marked, one that names it is
// not.
func TestOwnHome(t *testing.T) {
	own := func(line string) bool {
		return slices.ContainsFunc(shell(t, line).Paths, func(p touch.Path) bool { return p.Home && strings.HasSuffix(p.Clean, "/f") })
	}
	for _, line := range []string{"cat ~/f", "cat $HOME/f", `cat "${HOME}/f"`, "cd; cat f", "cd ~/x && cat f", "D=$HOME/x; cat $D/f"} {
		require.True(t, own(line), line)
	}
	for _, line := range []string{"cat /home/alice/f", "cat ~bob/f", "cat f", "cat /x$HOME/f", "cd; cat /f"} {
		require.False(t, own(line), line)
	}
}
