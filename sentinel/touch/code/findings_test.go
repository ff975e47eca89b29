package code_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/vedette-dev/vedette/sentinel/touch/code"
)

const read, write, del, run = code.ToRead, code.ToWrite, code.ToDelete, code.ToExecute

func paths(p ...code.Path) code.Findings {
	return code.Findings{Paths: p}
}

type finding struct {
	lang, text string
	want       code.Findings
}

// findings are what each kind of code comes to.
var findings = []finding{
	{"python", `print("hello")`, code.Findings{}},
	{"python", `import os; os.system("ls -l " + "/srv")`, code.Findings{Commands: []code.Command{{Line: "ls -l /srv"}}}},
	{"python", `import subprocess; subprocess.run(["git", "log", "-1"], check=True)`,
		code.Findings{Commands: []code.Command{{Words: []string{"git", "log", "-1"}}}}},
	{"js", "require('child_process').spawnSync('git', ['status'], {cwd: 'x'})",
		code.Findings{Commands: []code.Command{{Words: []string{"git", "status"}, Folder: "x"}}}},
	{"ruby", "puts `git log`", code.Findings{Commands: []code.Command{{Line: "git log"}}}},
	{"perl", `system qw(git status)`, code.Findings{Commands: []code.Command{{Words: []string{"git", "status"}}}}},
	{"go", `exec.Command("git", "status").Run()`, code.Findings{Commands: []code.Command{{Words: []string{"git", "status"}}}}},
	{"python", `import shutil; shutil.rmtree("build")`, paths(code.Path{Text: "build", Access: del, Tree: true})},
	{"js", `fs.rmSync("dist", {recursive: true})`, paths(code.Path{Text: "dist", Access: del, Tree: true})},
	{"python", `import os; os.chmod("/", 0o777)`, paths(code.Path{Text: "/", Access: write, Tree: true, Effect: "chmod_tree"})},
	{"python", `import shutil; shutil.move("/srv/a", "/srv/b")`,
		paths(code.Path{Text: "/srv/a", Access: read | del, Effect: "move_tree"}, code.Path{Text: "/srv/b", Access: write})},
	{"python", `print(open("a.txt").read())`, paths(code.Path{Text: "a.txt", Access: read})},
	{"python", `open("a.txt", "w").write("x")`, paths(code.Path{Text: "a.txt", Access: write})},
	{"python", `from pathlib import Path; (Path.home() / ".x" / "f").read_text()`, paths(code.Path{Text: "~/.x/f", Access: read})},
	{"js", "fs.readFileSync(`${process.env.HOME}/.x/f`)", paths(code.Path{Text: "~/.x/f", Access: read})},
	{"ruby", `File.read(File.join(Dir.home, ".x", "f"))`, paths(code.Path{Text: "~/.x/f", Access: read})},
	{"perl", `open(F, ">", "a.txt")`, paths(code.Path{Text: "a.txt", Access: write})},
	{"python", `exec(open("setup.py").read())`,
		paths(code.Path{Text: "setup.py", Access: read | run}, code.Path{Text: "setup.py", Access: read})},
	{"python", "for d in ('build', 'dist'):\n  shutil.rmtree(d)",
		paths(code.Path{Text: "build", Access: del, Tree: true}, code.Path{Text: "dist", Access: del, Tree: true})},
	{"python", `import requests; requests.get("https://a.example/x")`,
		code.Findings{URLs: []string{"https://a.example/x"}, Traffic: code.Traffic{Network: true}}},
	{"python", `eval("1+1")`, code.Findings{Inner: []code.Inline{{Lang: "python", Text: "1+1"}}}},
	{"python", `import sys; print(sys.stdin.read())`, code.Findings{Input: true}},
	{"python", `import os; os.system(x)`, code.Findings{Unread: true}},
	{"python", `import os; os.listdir("src")`, paths(code.Path{Text: "src", Access: read, Names: true})},
	{"sql", `DROP TABLE t`, code.Findings{Effects: []string{"database_destroy"}}},
	{"sql", `DELETE FROM t WHERE 1 = 1`, code.Findings{Effects: []string{"database_destroy"}}},
	{"sql", `with x as (select 1) delete from t`, code.Findings{Effects: []string{"database_destroy"}}},
	{"sql", `/*!50000 drop table t */`, code.Findings{Effects: []string{"database_destroy"}}},
	{"sql", `select '\'; drop table t`, code.Findings{Effects: []string{"database_destroy"}}},
	{"sql", `-- drop table t`, code.Findings{}},
	{"sql", `select 'drop table t'; select "truncate" from t`, code.Findings{}},
	{"sed", `s/a/b/w out.txt`, paths(code.Path{Text: "out.txt", Access: write})},
	{"awk", `{ print > "out.txt" }`, paths(code.Path{Text: "out.txt", Access: write})},
	{"awk", `{ print | "sort" }`, code.Findings{Commands: []code.Command{{Line: "sort"}}}},
	{"make", "X = b\na:\n\trm -rf $(X) $$y $(Z)", code.Findings{Commands: []code.Command{{Line: "rm -rf ${X} $y ${Z}"}}}},
	{"vim", `r /srv/f`, paths(code.Path{Text: "/srv/f", Access: read})},
	{"gdb", "python print(1)", code.Findings{Inner: []code.Inline{{Lang: "python", Text: "print(1)"}}}},
	{"powershell", `Remove-Item -Recurse build`, paths(code.Path{Text: "build", Access: del, Tree: true})},
	{"powershell", `Get-Content $HOME/.x`, paths(code.Path{Text: "~/.x", Access: read})},
	{"jq", `env`, code.Findings{Secrets: code.Secrets{Environment: true}}},
	{"python", `print("/srv/x")`, paths(code.Path{Text: "/srv/x"})},
}

// Each kind of finding says what happens, and to what.
func TestFindings(t *testing.T) {
	for _, tc := range findings {
		assert.Equal(t, tc.want, code.Read(tc.lang, tc.text), "%s: %s", tc.lang, tc.text)
	}
}

// A variable that is two things, a removal of what is listed, and what is
// hidden are not taken for what they look like.
func TestNotTakenFor(t *testing.T) {
	for _, r := range []row{
		{"python", "", `d="build"; d=x; import shutil; shutil.rmtree(d)`},
		{"python", "", "d='build'\ndef f(d):\n  shutil.rmtree(d)\nf(x)"},
		{"python", "", `d, e = "build", x; shutil.rmtree(d)`},
		{"python", "", `d="build"; d+=x; shutil.rmtree(d)`},
		{"python", "", "for i in (1,2):\n  shutil.rmtree(d)\n  d=y"},
		{"js", "", `let d="build"; d=process.argv[2]; fs.rmSync(d,{recursive:true})`},
		{"js", "", `let d="build"; [x].forEach(d=>fs.rmSync(d,{recursive:true}))`},
		{"ruby", "", `d="build"; [x].each{|d| FileUtils.rm_rf(d)}`},
		{"perl", "", `$d="build"; $d =~ s/build/x/; unlink $d`},
		{"python", "", `os.remove(x for x in y)`},
		{"python", "", `import glob,os; [os.remove(f) for f in glob.glob("/srv/*")]`},
		{"python", "", `import os; [os.remove(f) for f in os.listdir(".")]`},
		{"python", "", `open(x, "w")`},
		{"python", "", `open("/srv/" + x)`},
		{"python", "", `open(base64.b64decode("eA=="))`},
		{"python", "", `open("txt.a"[::-1])`},
		{"python", "", `open(bytes([47, 115]))`},
		{"python", "", `shutil.rmtree("".join(["/", "srv"]))`},
		{"python", "", `p = "/srv"; open(f"{p}/{f}")`},
		{"js", "", `fs.readFileSync(Buffer.from("eA==","base64").toString())`},
		{"js", "", `[x].forEach(fs.unlinkSync)`},
		{"js", "", `const {rmSync: r} = require("fs"); r(x)`},
		{"python", "", `from shutil import rmtree as r; r(x)`},
		{"python", "", `f = os.system`},
		{"python", "", `print(f"{os.system(x)}")`},
		{"js", "", "console.log(`${require('child_process').execSync(x)}`)"},
		{"ruby", "", `puts "#{eval(x)}"`},
	} {
		assert.True(t, code.Read(r.lang, r.text).Unread, "%s: %s", r.lang, r.text)
	}
}
