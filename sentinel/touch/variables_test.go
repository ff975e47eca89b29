package touch_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

func isDangerous(t testing.TB, line string) bool { return len(shell(t, line).Dangers) > 0 }

func doubts(t testing.TB, line, code string) bool {
	return slices.ContainsFunc(shell(t, line).Doubts, func(d touch.Danger) bool { return d.Code == code })
}

// A value that the line itself gives is known however it is given, and what is
// built the same way from a harmless one passes.
func TestValues(t *testing.T) {
	for name, tc := range map[string]struct{ does, near []string }{
		"read": {[]string{`read d <<< /; rm -rf "$d"`, `read -r _ d <<< "x /etc"; rm -rf $d`,
			`IFS=, read a b <<< 'x,/usr'; rm -rf "$b"`, `read -ra w <<< '-rf /'; rm "${w[@]}"`, "read l <<E\nrm -rf /\nE\n$l"},
			[]string{`read d <<< build; rm -rf "$d"`, `read -p 'name? ' n; echo "$n"`}},
		"printf -v": {[]string{`printf -v d %s /; rm -rf "$d"`, `printf -v c 'rm -rf %s' /; $c`},
			[]string{`printf -v d %03d 7; rm -rf "build$d"`}},
		"mapfile": {[]string{`mapfile -t a < <(echo /); rm -rf "${a[0]}"`, `readarray a <<< /etc; rm -rf ${a[@]}`},
			[]string{`mapfile -t a < <(echo build); rm -rf "${a[0]}"`}},
		"set": {[]string{`set -- -rf /; rm "$@"`, `set -- /; rm -rf $1`, `f() { set -- /; rm -rf "$1"; }; f`,
			`set / x; rm -rf "$*" $1`}, []string{`set -e; rm -rf build`, `set -- build; rm -rf "$1"`, `set -- -x; rm -rf build`}},
		"declare": {[]string{`declare -n r=HOME; rm -rf "$r"`, `typeset d=/; rm -rf $d`, `declare -A m=([k]=/); rm -rf "${m[k]}"`},
			[]string{`declare -i n=3; rm -rf build$n`, `declare -n r=x; x=build; rm -rf "$r"`}},
		"alias": {[]string{`alias z='rm -rf'; z /`, `hash -p /bin/rm z; z -rf /`},
			[]string{`alias ll='ls -la'; ll /`, `alias rm='rm -i'; rm x`}},
		"substring": {[]string{`rm -rf "${PATH:0:1}"`, `x=/a; rm -rf ${x%a}`, `x=//; rm -rf "${x//\/\//\/}"`, `x=RM; ${x,,} -rf /`},
			[]string{`x=build/a; rm -rf "${x%/*}"`}},
		"filters": {[]string{`rm -rf $(printf %b '\0057')`, `rm -rf $(echo Lw== | base64 -d)`, `rm -rf $(echo /ETC | tr A-Z a-z)`},
			[]string{`rm -rf $(echo BUILD | tr A-Z a-z)`}},
		"paths": {[]string{`rm -rf $(dirname /etc)`, `rm -rf $(dirname $HOME)`, `rm -rf $(realpath /tmp/..)`,
			`rm -rf /$(basename /x/etc)`, `rm -rf $(cd / && pwd)`},
			[]string{`rm -rf $(dirname build/x)`, `rm -rf "$(basename /srv/app)"`, `D=$(cd "$(dirname "$0")" && pwd); rm -rf "$D/build"`}},
		"extended pattern": {[]string{`rm -rf /!(x)`, `rm -rf /@(etc|usr)`, `rm -rf ~/!(keep)`, `zsh -c 'rm -rf /*(D)'`},
			[]string{`rm -rf build/!(keep)`, `rm -rf !(keep)`, `ls @(a|b)`}},
		"index": {[]string{`x[$(rm -rf /)]=1`, `(( x[$(rm -rf /)] = 1 ))`, `unset 'x[$(rm -rf /)]'`, `[[ -v 'x[$(rm -rf /)]' ]]`,
			`declare 'x[$(rm -rf /)]=1'`}, []string{`x[1]=/; echo $x`, `unset 'x[0]'`}},
		"listing": {[]string{`ls -d /* | xargs rm -rf`, `ls -d /* | while read d; do rm -rf "$d"; done`, `xargs -a <(echo /) rm -rf`,
			`cd / && ls | xargs rm -rf`},
			[]string{`ls -t old | tail -n +6 | xargs rm -rf`, `ls -d release-* | head -n 3 | xargs rm -rf`,
				`find . -name node_modules | xargs rm -rf`}},
	} {
		for _, line := range tc.does {
			require.True(t, isDangerous(t, line), "%s: %s", name, line)
		}
		for _, line := range tc.near {
			require.Empty(t, shell(t, line).Dangers, "%s: %s", name, line)
			require.Empty(t, shell(t, line).Doubts, "%s: %s", name, line)
		}
	}
}

// What a filter makes of a known text isn't worked out: a person is asked.
func TestUnfollowedFilters(t *testing.T) {
	for _, line := range []string{
		`rm -rf $(echo a | tr a /)`, `rm -rf "$(sed s,x,/, <<< x)"`, `rm -rf $(awk '{print $2}' <<< "a /")`, `rm -rf $(echo x:/ | cut -d: -f2)`,
		`rm -rf $(printf '/x' | head -c 1)`,
		`rm -rf $(rev <<< cte/)`, `rm -rf $(echo /x:build | cut -d: -f2)`,
	} {
		require.True(t, doubts(t, line, touch.UnknownTarget), line)
	}
}

// What a tree's remover or a device's writer is given and nobody can know is
// for a person to see; a named folder below it, a parameter or a scratch folder
// is not.
func TestUnknownTarget(t *testing.T) {
	for _, line := range []string{
		`rm -rf $X`, `rm -r "$X"`, `rm -rf $(curl -s https://a.example)`, `read x < f; rm -rf "$x"`, `cat list | xargs rm -rf`,
		`f() { rm -rf "$1"; }; f "$(cat x)"`, `find "$X" -delete`,
		`ls / | sed 's#^#/#;s#a#\1#' | xargs rm -rf`, `while read d; do rm -rf "$d"; done < f`, `dd if=x of=$(cat y)`, `dd if=/dev/zero of="$D"`,
	} {
		require.True(t, doubts(t, line, touch.UnknownTarget), line)
	}
	for _, line := range []string{`rm -rf $X/*`, `rm -rf /$X`, `rm -rf $X/$Y`, `rm -rf "$X"/..`, `rm -rf "$X/usr"`,
		`ls -A / | while read f; do rm -rf "/$f"; done`} {
		require.True(t, doubts(t, line, touch.UnsetTree), line)
	}
	for _, line := range []string{
		`rm "$X"`, `rm -rf "$X/build"`, `rm -rf "${X:?}/"*.o`, `rm -rf "$BUILD_DIR"`, `rm -rf "${OUT:?}"`, `rm -rf "$TMPDIR/x"`,
		`tmp=$(mktemp -d); rm -rf "$tmp"`, `f() { rm -rf "$1"; }; f build`, `f() { rm -rf "$@"; }; f a b`,
		`find "$LOGS" -mtime +30 -delete`, `find . -type d -name x -exec rm -r {} +`, `for d in a b; do rm -rf "$d"; done`,
		`for d in */; do rm -rf "$d/target"; done`, `dd if=a of="$OUT_FILE"`, `dd if=a of=disk.img`,
	} {
		require.Empty(t, shell(t, line).Doubts, line)
	}
}

// A folder of one letter and a colon is a drive; a file's name is not.
func TestDrive(t *testing.T) {
	clean := func(p string) string {
		return touch.Of(skill(t, skills.Modify), map[string]any{"path": p}, env()).Paths[0].Clean
	}
	for p, want := range map[string]string{"C:/x": "C:/x", `c:\x`: "C:/x", "C:x": "C:/x", "x:/y": "X:/y", "Z:": "Z:/",
		"x:y.txt": "/workspace/x:y.txt", "a:1": "/workspace/a:1"} {
		require.Equal(t, want, clean(p), p)
	}
}
