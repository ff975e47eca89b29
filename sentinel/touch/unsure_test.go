package touch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch"
)

// A part of a removed name that may be empty or another word is read both ways: the line is
// in doubt where the other reading is a tree that nothing brings back.
func TestUnsureParts(t *testing.T) {
	for _, line := range []string{
		// set and empty: an operator without a colon keeps it empty
		`x=; rm -rf "/${x-tmp/a}"`, `x=; rm -rf "/${x=tmp/a}"`, `x=""; y=${x-tmp/a}; rm -rf "/$y"`,
		// the word stands where the variable is set alone
		`rm -rf "/${ANY:+tmp/a}"`, `rm -rf "/${ANY+tmp/a}"`, `x=; rm -rf "/${x:+tmp/a}"`, `x=; rm -rf /${x:+tmp/a}`,
		`rm -rf "$HOME/${ANY:+tmp/a}"`, `f() { rm -rf "/$1"; }; f "${ANY:+tmp/a}"`, `set -- "${ANY:+tmp/a}"; rm -rf "/$1"`,
		// unset, wherever that happens
		`x=a; unset x; rm -rf "${x-/}"`, `x=a; unset x; rm -rf "${x:-/}"`, `x=tmp/a; unset x; rm -rf "/$x"`,
		`x=tmp/a; unset -v x; rm -rf "/$x"`, `x=tmp/a; command unset x; rm -rf "/$x"`, `x=tmp/a; builtin unset x; rm -rf "/$x"`,
		`x=tmp/a; \unset x; rm -rf "/$x"`, `x=tmp/a; y=b; unset y x; rm -rf "/$x"`, `x=tmp/a; y=x; unset "$y"; rm -rf "/$x"`,
		`x=tmp/a; { unset x; }; rm -rf "/$x"`, `x=tmp/a; eval "unset x"; rm -rf "/$x"`, `x=tmp/a; (unset x; rm -rf "/$x")`,
		`x=tmp/a; if a; then unset x; fi; rm -rf "/$x"`, `x=tmp/a; a && unset x; rm -rf "/$x"`, `x=tmp/a; a || unset x; rm -rf "/$x"`,
		`x=tmp/a; f() { unset x; }; f; rm -rf "/$x"`, `a=(tmp/a); unset 'a[0]'; rm -rf "/${a[0]}"`,
		`x=a; unset x; rm -rf ${x:-/}`, `x=a; unset x; : "${x:=/}"; rm -rf "$x"`,
		// a function takes the name for itself
		`x=tmp/a; f() { local x; rm -rf "/$x"; }; f`, `x=tmp/a; f() { declare x; rm -rf "/$x"; }; f`,
	} {
		require.True(t, doubts(t, line, touch.UnsetTree), line)
	}
	for _, line := range []string{
		`x=; rm -rf "/${x:-tmp/a}"`, `x=tmp/a; rm -rf "/${x-}"`, `x=tmp/a; rm -rf "/${x:?}"`, `x=tmp/a; unset y; rm -rf "/$x"`,
		`x=a; unset x; x=tmp/a; rm -rf "/$x"`, `x=tmp/a; (unset x); rm -rf "/$x"`, `rm ${ANY:+-v} -rf build`,
		`rm -rf "build${ANY:+-$ANY}"`, `rm -rf "${ANY:+$ANY/}build"`, `x=build; unset x; rm -rf "$x/a"`, `cp ${ANY:+-v} a b`,
		`LD_LIBRARY_PATH=/opt/a${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} make`, `unset CDPATH; cd /tmp/a && rm -rf build`,
		`f() { local d; d=$(mktemp -d); rm -rf "$d"; }; f`,
		`d=/tmp/a; f() { export d; rm -rf "$d"/*; }; f`, `d=${1-/tmp/out}; rm -rf "$d"/*`,
		`clean() { local d; d=/tmp/$1; rm -rf "$d"/*; }; if t; then clean a; clean b; fi`, `cd; rm -rf ${x:+build}`,
		`x=tmp/a; unset x; : "${x:=tmp/b}"; rm -rf "/$x"`, `x=tmp/a; unset -f x; rm -rf "/$x"`, `rm -rf "/tmp/a${ANY:+-$ANY}"`,
	} {
		require.Empty(t, shell(t, line).Dangers, line)
		require.Empty(t, shell(t, line).Unparsed, line)
		require.False(t, doubts(t, line, touch.UnsetTree), line)
	}
}

// The word behind an operator may be missing, and is read once where it counts.
func TestAlternativesAreReadOnce(t *testing.T) {
	for line, commands := range map[string]int{
		`x=a; echo "${x:-}"`: 1, `x=a; echo ${x-}`: 1, `x=a; unset x; echo "${x:-}"`: 2, `echo "${ANY:-}" "${ANY:+}"`: 1,
		`x=a; echo "${x:-$(id)}"`: 2, `x=a; unset x; echo "${x:-$(id)}"`: 3, `x=a; unset x; echo "${x:=$(id)}"`: 3,
		`x=a; unset x; echo "${x:-$(echo "${x:-$(echo "${x:-$(id)}")}")}"`: 5,
	} {
		require.Empty(t, shell(t, line).Unparsed, line)
		require.Len(t, shell(t, line).Commands, commands, line)
	}
}
