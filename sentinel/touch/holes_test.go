package touch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch"
)

// A line that is made of a value that may be gone is read both ways.
func TestUnsureLines(t *testing.T) {
	for _, line := range []string{
		`x=tmp/a; unset x; eval "rm -rf /$x"`, `x=tmp/a; unset x; eval rm -rf "/$x"`, `x=tmp/a; unset x; bash -c "rm -rf /$x"`,
		`x=tmp/a; unset x; sudo sh -c "rm -rf /$x"`, `x=tmp/a; unset x; sh -c 'rm -rf "/$1"' _ "$x"`, `eval "rm -rf /${ANY:+tmp/a}"`,
		`x=tmp/a; unset x; eval "eval \"rm -rf /$x\""`, `x=tmp/a; unset x; watch "rm -rf /$x"`,
	} {
		require.True(t, doubts(t, line, touch.UnsetTree) || isDangerous(t, line), line)
	}
	for _, line := range []string{
		`x=tmp/a; unset x; eval "ls /$x"`, `x=a; unset x; eval "rm -rf build/$x"`, `x=tmp/a; unset y; eval "rm -rf /$x"`,
		`eval "make ${ANY:+-j4}"`, `bash -c "cp ${ANY:+-v} a b"`,
	} {
		require.False(t, doubts(t, line, touch.UnsetTree), line)
		require.False(t, isDangerous(t, line), line)
	}
}

// What stands behind "&&" may not run: what it assigns is sure as long as the chain goes on.
func TestAssignmentsThatMayNotHappen(t *testing.T) {
	for _, line := range []string{
		`x=/; false && x=tmp/b; rm -rf "$x"`, `x=/; test -f a && x=tmp/b; rm -rf "$x"`, `x=/etc; a && b && x=tmp/b; rm -rf "$x"`,
		`x=/; a && { x=tmp/b; }; rm -rf "$x"`, `x=/; a && export x=tmp/b; rm -rf "$x"`, `x=/; a && read x <<< b; rm -rf "$x"`,
		`x=/; a && x=b || rm -rf "$x"`, `f() { x=/; a && x=b; rm -rf "$x"; }; f`, `x=/; if a && x=b; then c; fi; rm -rf "$x"`,
		`x=/; a && x=b && y=c; rm -rf "$x"`, `x=/; (a && x=b; rm -rf "$x")`, `x=/; a && x=b & rm -rf "$x"`,
		`x=/; a && x=$(b); rm -rf "$x"`, `x=/; a && x=b; if c; then x=d; fi; rm -rf "$x"`, `x=/; a && x=b; c && x=d; rm -rf "$x"`,
		`x=/; a && x=b; eval "rm -rf $x"`, `x=/; a && x=b; y=$x; rm -rf "$y"`, `x=; a && x=b; rm -rf "/$x"`,
	} {
		require.True(t, isDangerous(t, line) || doubts(t, line, touch.UnsetTree), line)
	}
	for _, line := range []string{
		`x=/; false && x=/tmp/b && rm -rf "$x"`, `x=/; a && x=build && cd "$x" && rm -rf *`, `x=a; test -f b && x=c; rm -rf "$x"`,
		`x=/; y=1 && x=build; rm -rf "$x"`, `x=/; true && x=build; rm -rf "$x"`, `mkdir -p build && cd build && cmake ..; cd ..; rm -rf *`,
		`test -n "$1" && x=$1; rm -rf "build/$x"`, `x=/; a && x=b; x=build; rm -rf "$x"`, `x=build; a && (x=/); rm -rf "$x"`,
	} {
		require.False(t, isDangerous(t, line), line)
		require.False(t, doubts(t, line, touch.UnsetTree), line)
	}
}

// Another name for a variable is followed in both directions.
func TestNameReferences(t *testing.T) {
	for _, line := range []string{
		`declare -n r=x; x=/; rm -rf "$r"`, `declare -n r=x; r=/; rm -rf "$x"`, `x=build; declare -n r=x; r=/; rm -rf "$r"`,
		`declare -n r=x; read r <<< /; rm -rf "$x"`, `f() { local -n r=$1; r=/; }; x=build; f x; rm -rf "$x"`,
		`declare -n r=x; declare -n q=r; q=/; rm -rf "$x"`,
	} {
		require.True(t, isDangerous(t, line), line)
	}
	for _, line := range []string{
		`declare -n r=x; r=build; rm -rf "$x"`, `declare -n r=x; declare -n x=r; r=build; rm -rf "$x"`, `declare -n r=r; r=build; ls "$r"`,
	} {
		require.False(t, isDangerous(t, line), line)
	}
}

// A shell that runs a line may look at no alias: the program's own meaning counts beside
// the alias, as far as a person should see it.
func TestAliasesOfPrograms(t *testing.T) {
	for _, line := range []string{
		`alias rm=echo; rm -rf /`, "alias rm=echo\nrm -rf /", `alias rm='echo no'; rm -rf ~`, `alias dd=true; dd if=/dev/zero of=/dev/sda`,
		`alias chmod=:; chmod -R 000 /`, `alias rm=echo; sudo rm -rf /`,
	} {
		got := shell(t, line)
		require.NotEmpty(t, append(got.Doubts, got.Dangers...), line)
	}
	require.True(t, doubts(t, `alias rm=echo; rm -rf /`, touch.OpaqueCommand))
	require.False(t, isDangerous(t, `alias rm=echo; rm -rf /`), "no worse than unknown")
	for _, line := range []string{
		`alias rm='rm -i'; rm x`, `alias ll='ls -la'; ll /`, `alias grep='grep --color=auto'; grep -r foo src`, `alias k=kubectl; k get pods`,
		`alias cp='cp -iv'; cp a b`, `alias rm=echo`, `alias rm=trash; ls`, `alias python=python3; python x.py`, `alias ..='cd ..'; ..`,
	} {
		require.Empty(t, shell(t, line).Dangers, line)
		require.Empty(t, shell(t, line).Doubts, line)
		require.Empty(t, shell(t, line).Unread, line)
	}
}

// A name for a variable may never have been declared, or be taken back: what the variable
// held counts beside what is assigned by that name.
func TestNameReferencesThatMayNotHold(t *testing.T) {
	for _, line := range []string{
		`t=/home; false && declare -n r=t; r=/tmp/x; rm -rf $t`, `t=/home; if false; then declare -n r=t; fi; r=/tmp/x; rm -rf $t`,
		`t=/home; while false; do declare -n r=t; done; r=/tmp/x; rm -rf $t`, `t=/home; true || declare -n r=t; r=/tmp/x; rm -rf $t`,
		`t=/home; case a in b) declare -n r=t;; esac; r=/tmp/x; rm -rf $t`, `t=/home; declare -n r=t & r=/tmp/x; rm -rf $t`,
		`t=/home; declare -n r=t; unset -n r; r=/tmp/x; rm -rf $t`, `t=/home; declare -n r=t; declare +n r; r=/tmp/x; rm -rf $t`,
		`t=/home; declare -n r=t; for r in a; do :; done; r=/tmp/x; rm -rf $t`, `t=/home; declare -n r=t; r=/tmp/x rm -rf $t`,
		`t=/home; local -n r=t; r=/tmp/x; rm -rf $t`, `t=/home; declare -nr r=t; r=/tmp/x; rm -rf $t`,
		`t=/home; declare -n r=t; r[1]=/tmp/x; rm -rf $t`, `sh -c 't=/home; declare -n r=t; r=/tmp/x; rm -rf $t'`,
		`cd /; declare -n r=PWD; r=/tmp/x; rm -rf home`, `f() { declare -gn r=t; }; f; t=/home; rm -rf $r`,
		`declare -n r=t; f() { declare -gn r=u; }; f; u=/home; t=/tmp/x; rm -rf $r`,
	} {
		require.True(t, isDangerous(t, line), line)
	}
}

// What an "&&" assigns stays one word, so that the words behind it keep their places.
func TestChainedAssignmentsMoveNoWords(t *testing.T) {
	for _, line := range []string{
		`X=$Q; test -d . && X=-c; bash $X "rm -rf /home"`, `X=$Q; test -d . && X=bash; sudo $X -c "rm -rf /home"`,
		`X=(a b); test -d . && X=bash; sudo $X -c "rm -rf /home"`, `X=a; unset X; test -d . && X=-c; bash $X "rm -rf /home"`,
		`X=a; p && X=b; q && X=bash; sudo $X -c "rm -rf /home"`, `X=$Q; test -d . && X=/home; rm -rf "$(echo $X)"`,
		`declare -n r[$(rm -rf /home)]=x`,
	} {
		require.True(t, isDangerous(t, line), line)
	}
	got := shell(t, `X=$Q; test -d . && X=http://169.254.169.254/; curl "$(echo $X)"`)
	require.NotEmpty(t, got.Hosts)
}
