package touch_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch"
)

// stops reports whether a line's reading keeps it from running by itself: a danger, or a
// doubt that a person is asked about.
func stops(got touch.Touch) bool {
	return len(got.Dangers)+len(got.Doubts)+len(got.Unread)+len(got.Unparsed)+len(got.Incomplete) > 0
}

// A command's own assignment comes behind the expansion of its words, and ends with it.
func TestAssignmentsBeforeCommands(t *testing.T) {
	for _, line := range []string{
		`t=/home; t=/tmp/x rm -rf $t`, `t=/home; t=/tmp/x rm -rf "$t"`, `t=/home; t=/tmp/x true; rm -rf $t`,
		`t=/home; t=/tmp/x make && rm -rf $t`, `t=/home; t=/tmp/x a || rm -rf $t`, `t=/home; t=/tmp/x a | rm -rf $t`,
		"t=/home; t=/tmp/x a\nrm -rf $t", `export t=/home; t=/tmp/x rm -rf $t`, `f() { local t=/home; t=/tmp/x rm -rf $t; }; f`,
		`(t=/home; t=/tmp/x rm -rf $t)`, `t=/home; (t=/tmp/x a; rm -rf $t)`, `t=/home && t=/tmp/x rm -rf $t`,
		`t=/home; t=/tmp/x; u=$t t=/home a; t=/home u=/tmp/x true; t=/home; t=/tmp/x rm -rf "$t"`, `t=/home; u=1 t=/tmp/x rm -rf $t`,
		`t=/home; t=/tmp/x env rm -rf $t`, `t=/home; env t=/tmp/x rm -rf $t`, `t=/home; env t=/tmp/x true; rm -rf $t`,
		`t=/home; t=/tmp/x :; rm -rf $t`, `t=/tmp/x; t=/home :; rm -rf $t`, `t=/home; t+=x rm -rf $t`, `t=/home; t=/tmp/x $Q; rm -rf $t`,
		`t=/tmp/x; t=/home sh -c 'rm -rf $t'`, `t=/tmp/x; t=/home eval 'rm -rf $t'`, `f() { rm -rf $t; }; t=/tmp/x; t=/home f`,
		`t=/home; for i in 1; do t=/tmp/x rm -rf $t; done`, `t=/home; if t=/tmp/x a; then rm -rf $t; fi`, `t=/home; t=/tmp/x a & rm -rf $t`,
		`t=${t:=/home} true; rm -rf $t`, `p && t=/tmp/x; t=/tmp/y true; rm -rf ${t:-/home}`,
		`t=/home; t=/tmp/x & rm -rf $t`, `t=/home; { t=/tmp/x; } & rm -rf $t`, `t=/home; t=/tmp/x read u; rm -rf $t`,
		`t=/tmp/x; t=/tmp/y read t <<< /home; rm -rf $t`, `t=/home; export t=/tmp/x u=$t; rm -rf $u`, `t=/home; declare t=/tmp/x u=$t; rm -rf $u`,
	} {
		require.True(t, stops(shell(t, line)), line)
	}
	for _, line := range []string{
		`t=/home; t=/tmp/x; rm -rf $t`, `t=/tmp/x; t=/home make; rm -rf $t`, `IFS=, read a b <<< 'x,y'; rm -rf "build/$a"`,
		`CC=clang make && rm -rf build`, `D=/tmp/x; LC_ALL=C sort a; rm -rf "$D"`, `t=/home; t=/tmp/x sh -c 'rm -rf $t'`,
		`NODE_ENV=test npm test; rm -rf node_modules`, `D=build; D=$D make; rm -rf $D`, `a=1 b=2 c=3 make`,
		`PREFIX=/tmp/x make install && rm -rf /tmp/x`, `t=/tmp/x; export u=$t v=$t; rm -rf $u $v`,
	} {
		require.False(t, stops(shell(t, line)), line)
	}
}

// An array keeps its other elements, and its name alone is the first.
func TestArrayElements(t *testing.T) {
	for _, line := range []string{
		`t=/home; t[1]=/tmp/x; rm -rf $t`, `t=(/home b); rm -rf $t`, `t=(/tmp/x /home); t=/tmp/y; rm -rf "${t[@]}"`,
		`t=(/home); t+=(b); rm -rf $t`, `t=(/tmp/a /home); t+=x; rm -rf "${t[@]}"`, `t[1]=tmp/x; rm -rf /$t`, `t=([1]=tmp/x); rm -rf /$t`,
		`t=(a /home); read t <<< b; rm -rf "${t[@]}"`, `X=(a b); X=-c; bash $X "rm -rf /home"`, `X=(-c b); bash $X "rm -rf /home"`,
		`X=(a b); if test -d .; then X=-c; fi; bash $X "rm -rf /home"`, `t=/tmp/x; printf -v 't[0]' /home; rm -rf $t`,
		`t=/tmp/x; read 't[0]' <<< /home; rm -rf $t`, `t=/tmp/x; declare 't[0]=/home'; rm -rf $t`, `declare -a t; t[2]=tmp/x; rm -rf /$t`,
		`t=([1]=/tmp/x); t[2]+=/home; rm -rf "${t[@]}"`, `x=/tmp/x; x=${x[1]}; rm -rf ${x:-/home}`, `p && t=/tmp/x; t+=/home; rm -rf $t`,
		`t=(/tmp/x); t[1]=/home; rm -rf "${t[@]}"`, `t=/ho; t+=me; rm -rf $t`, `t=/ho; t[0]+=me; rm -rf $t`,
	} {
		require.True(t, stops(shell(t, line)), line)
	}
	for _, line := range []string{
		`t=(a b); rm -rf "${t[@]}"`, `t=(); t+=(-x); t+=(y); tool "${t[@]}"`, `declare -A m=([k]=build); rm -rf "${m[k]}"`,
		`declare -A m; m[k]=build; rm -rf "${m[k]}"`, `t[0]=build; t[1]=out; rm -rf $t`,
		`args=(-v); if a; then args+=(-x); fi; tool "${args[@]}"`,
		`FLAGS="-O2"; FLAGS+=" -g"; gcc $FLAGS a.c`, `dirs=(build dist); for d in "${dirs[@]}"; do rm -rf "$d"; done`,
	} {
		require.False(t, stops(shell(t, line)), line)
	}
}

// What declares a variable counts, however the shell is told, and what it says of it.
func TestDeclarations(t *testing.T) {
	for _, line := range []string{
		`t=/tmp/x; \export t=/home; rm -rf $t`, `t=/tmp/x; command export t=/home; rm -rf $t`, `t=/tmp/x; builtin declare t=/home; rm -rf $t`,
		`t=/tmp/x; u=1 export t=/home; rm -rf $t`, `t=/tmp/x; declare "t=/home"; rm -rf $t`, `n=t; t=/tmp/x; declare "$n=/home"; rm -rf $t`,
		`t=/tmp/x; export 't=/home'; rm -rf $t`, "readonly t=/home\nt=/tmp/x\nrm -rf $t", "declare -r t=/home\nt=/tmp/x\nrm -rf $t",
		"t=/home; readonly t\nt=/tmp/x\nrm -rf $t", `declare -l t; t=/HOME; rm -rf $t`, `typeset -l t=/HOME; rm -rf $t`,
		`declare -n r; r=t; t=/home; rm -rf $r`, `r=t; declare -n r; t=/home; rm -rf $r`, `r=/home; false && declare -n r=t; t=/tmp/x; rm -rf $r`,
		`declare -a 't=(/home)'; rm -rf $t`, `FUNCNAME=tmp/x; rm -rf /$FUNCNAME`, `_=tmp/x; rm -rf /$_`,
		"t=/home\nt=/tmp/x$((1/0))\nrm -rf $t", `t=/tmp/x; unset t; rm -rf /${t#/tmp}`, `unset TMPDIR; rm -rf "$TMPDIR"/*`,
	} {
		require.True(t, stops(shell(t, line)), line)
	}
	for _, line := range []string{
		`export t=build; rm -rf $t`, `command export PATH=/opt/x:$PATH; make`, `readonly D=build; rm -rf $D`, `declare -i n=3; rm -rf build$n`,
		`declare -l t=build; rm -rf $t`, `f() { local -r d=$1; rm -rf "build/$d"; }; f a; f b`, `f() { local -n out=$1; out=build; }; f`,
		`export $(grep -v x vars | xargs)`, `declare -x A=1 B=2`,
	} {
		got := shell(t, line)
		require.Empty(t, got.Dangers, line)
		require.False(t, slices.ContainsFunc(got.Doubts, func(d touch.Danger) bool { return d.Code != touch.OpaqueCommand }), line)
	}
}

// A variable's default counts where the variable may not be set, and not where it is.
func TestDefaultsOfChangedVariables(t *testing.T) {
	for _, line := range []string{
		`x=/home; p && x=/tmp/a; rm -rf ${x:-/tmp/b}`, `p && x=/tmp/a; rm -rf ${x:-/home}`, `p || x=/tmp/a; rm -rf ${x:-/home}`,
		`if p; then x=/tmp/a; fi; rm -rf ${x-/home}`, `if p; then x=/home; else x=/tmp/a; fi; rm -rf ${x:-/tmp/b}`,
		`x=/home; p && x=$Q; rm -rf ${x:-/tmp/b}`, `x=$Q/..; rm -rf ${x:-/tmp/b}`, `x=(/home a); rm -rf ${x:-/tmp/b}`,
		`x=/home; p && x=/tmp/a; q && x=/tmp/b; rm -rf $x`, `x=/home; if p; then x=/etc; fi; q && x=/tmp/a; rm -rf $x`,
		`x=/home; p && x=/tmp/a; q && unset x; rm -rf $x`, `p && x=/tmp/a; rm -rf ${x:=/home}`, `p && x=/tmp/a; : ${x:=/home}; rm -rf $x`,
		`x=/home; if true; then :; elif x=/tmp/x; then :; fi; rm -rf $x`, `x=/home; for x in ; do :; done; rm -rf $x`,
		`x=/home; if p; then for x in /tmp/x; do :; done; fi; rm -rf $x`,
	} {
		require.True(t, stops(shell(t, line)), line)
	}
	for _, line := range []string{
		`x=/tmp/a; rm -rf ${x:-/home}`, `if p; then x=/tmp/a; else x=/tmp/b; fi; rm -rf ${x:-/tmp/c}`, `D=$BASE/out; rm -rf "${D:-/tmp/x}"`,
		`p && x=build; rm -rf ${x:-out}`, `x=build; p && x=out; rm -rf $x`, `: ${OUT:=build}; rm -rf $OUT`,
		`if [ -z "$D" ]; then D=/tmp/x; fi; rm -rf "$D"/*`,
	} {
		require.False(t, stops(shell(t, line)), line)
	}
}

// A word that may be another is read in its own place, as a command's name and behind it.
func TestWordsAreReadInTheirPlaces(t *testing.T) {
	for _, line := range []string{
		`x=rm; [ -e q ] && x=ls; $x -rf /home`, `x=a; if p; then x=/home; fi; rm -rf "$(echo $x)"`,
		`x=/; if p; then x=/tmp/a; fi; cd $x; rm -rf *`,
		`x=a; if p; then x="rm -rf /home"; fi; echo "$x" | sh`, `x=a; p && x="rm -rf /home"; echo "$x" | sh`,
		`for d in a /home; do n=$(true; echo "$d"); rm -rf "$n"; done`, `for d in a /home; do n=$(true && echo "$d"); rm -rf "$n"; done`,
		`for X in a -c; do bash $X "rm -rf /home"; done`, `x="rm -rf /home"; p && x=ls; bash -c "$x"`, `x=/; p && x=/tmp/b; cd $x; rm -rf *`,
	} {
		require.True(t, stops(shell(t, line)), line)
	}
	for _, line := range []string{
		`x=/etc/shadow; [ -e q ] && x=/tmp/a; cat $x`, `for X in a /etc/shadow; do cat "$(echo $X)"; done`,
		`for f in shadow motd; do cp /tmp/x /etc/$f; done`,
	} {
		require.NotZero(t, accessTo(shell(t, line), "/etc/shadow"), line)
	}
	for _, line := range []string{
		`for f in a b; do cp "$f" "out/$f"; done`, `for h in a b; do echo "$h" | tr a-z A-Z; done`, `x=ls; p && x=cat; $x a`,
		`for d in a b; do n=$(basename "$d"); rm -rf "build/$n"; done`, `v=; p && v=-v; make $v all`, `cd ${SUB:-.} && rm -rf build`,
	} {
		require.False(t, stops(shell(t, line)), line)
	}
}

// The working folder is no variable: $PWD may hold anything, and "~" follows $HOME.
func TestFoldersAndTheirVariables(t *testing.T) {
	for _, line := range []string{
		`cd /; PWD=/tmp/x; rm -rf home`, `cd /; PWD=/tmp/x true; rm -rf home`, `PWD=/tmp; rm -rf $PWD/../home`,
		`cd /; p && PWD=/tmp/x; rm -rf home`,
		`cd /; cd /tmp/x; rm -rf $OLDPWD/home`, `HOME=/; rm -rf ~/etc`, `cd /tmp/x; PWD=/; rm -rf $PWD`, `HOME=/; cd; rm -rf etc`,
		`cd /; cd /tmp/x; rm -rf ~-/home`, `cd /; rm -rf ~+/home`, `cd /; cd /tmp/x; cd -; rm -rf home`,
	} {
		require.True(t, stops(shell(t, line)), line)
	}
	for _, line := range []string{
		`cd build; rm -rf "$PWD/x"`, `HOME=/tmp/x; rm -rf ~/build`, `cd /tmp/x && rm -rf ./y`, `D=$PWD; cd /tmp; rm -rf "$D/build"`,
	} {
		require.False(t, stops(shell(t, line)), line)
	}
}
