package bash_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch/bash"
	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// holds reports whether a line is denied or asked about.
func holds(line string) bool {
	got := bash.Evaluate(line, path.Env{Root: "/workspace", Home: "/home/alice", NoFS: true}, bash.NewBudget())
	return len(got.Dangers)+len(got.Doubts)+len(got.Unread) > 0 || got.Unparsed || got.Incomplete
}

// removes reports whether a line is denied, asked about, or removes a path as it stands in the line.
func removes(line, raw string) bool {
	got := bash.Evaluate(line, path.Env{Root: "/workspace", Home: "/home/alice", NoFS: true}, bash.NewBudget())
	for _, p := range got.Paths {
		if p.Access.Has(bash.Delete) && p.Raw == raw {
			return true
		}
	}
	return holds(line)
}

// A process that a shell starts has only the variables and functions that are exported.
func TestProcessesInheritWhatIsExported(t *testing.T) {
	for _, line := range []string{
		`t=tmp/x; bash -c 'rm -rf /$t'`, `t=tmp/x; sh -c 'rm -rf "/$t"'`, `t=tmp/x; echo 'rm -rf /$t' | sh`,
		"t=tmp/x; bash <<'E'\nrm -rf /$t\nE", `t=tmp/x; echo 'rm -rf /$t' > a.sh; bash a.sh`, `t=tmp/x; bash -c 'rm -rf $t/*'`,
		`export t=tmp/x; export -n t; bash -c 'rm -rf /$t'`, `declare +x t=tmp/x; bash -c 'rm -rf /$t'`,
		`t=tmp/x true; bash -c 'rm -rf /$t'`, `false; if a; then export t; fi; t=tmp/x; bash -c 'rm -rf /$t'`,
		`set -a; set +a; t=tmp/x; bash -c 'rm -rf /$t'`, `t=tmp/x; xargs bash -c 'rm -rf /$t'`,
		`rm() { true; }; bash -c 'rm -rf /'`, `alias rm=true; bash -c 'rm -rf /'`, `t=tmp/x; env u=1 bash -c 'rm -rf /$t'`,
		`t=tmp/x; bash -c "bash -c 'rm -rf /\$t'"`,
	} {
		assert.True(t, holds(line), line)
	}
	for _, line := range []string{
		`export t=tmp/x; bash -c 'rm -rf /$t'`, `t=tmp/x; export t; bash -c 'rm -rf /$t'`, `t=tmp/x bash -c 'rm -rf /$t'`,
		`env t=tmp/x bash -c 'rm -rf /$t'`, `declare -x t=tmp/x; sh -c 'rm -rf /$t'`, `set -a; t=tmp/x; bash -c 'rm -rf /$t'`,
		`set -o allexport; t=tmp/x; bash -c 'rm -rf /$t'`, `t=tmp/x; eval 'rm -rf /$t'`, `t=tmp/x; (rm -rf /$t)`,
		`t=build; bash -c 'rm -rf $t'`, `t=tmp/x; bash -c "rm -rf /$t"`, `t=build; bash -c 'rm -rf ./$t/x'`,
		`HOME=/tmp/x; bash -c 'rm -rf $HOME/*'`, `f() { rm -rf build; }; export -f f; bash -c f`,
		`t=tmp/x; bash -c 't=tmp/y; rm -rf /$t'`, `t=tmp/x; trap 'rm -rf /$t' EXIT`,
	} {
		assert.False(t, holds(line), line)
	}
	require.True(t, holds(`f() { rm -rf /; }; export -f f; bash -c f`), "a function that is exported")
}

// A name that a function declares for itself is the caller's again, or none, when it ends.
func TestLocalNamesEnd(t *testing.T) {
	for _, line := range []string{
		`f() { local t=tmp/x; }; f; rm -rf /$t`, `t=; f() { local t=tmp/x; }; f; rm -rf /$t`, `f() { declare t=tmp/x; }; f; rm -rf "/$t"`,
		`t=/home; f() { local t=/tmp/x; }; f; rm -rf $t`, `f() { local t; t=tmp/x; }; f; rm -rf /$t`,
		`f() { local t=tmp/x; g; }; g() { true; }; f; rm -rf /$t`, `f() { local t; g; }; g() { t=tmp/x; }; f; rm -rf /$t`,
		`f() { typeset t; read t <<< tmp/x; }; f; rm -rf /$t`, `f() { t=tmp/x; }; rm -rf /$t`,
	} {
		assert.True(t, holds(line), line)
	}
	for _, line := range []string{
		`f() { local t=tmp/x; rm -rf /$t; }; f`, `f() { t=tmp/x; }; f; rm -rf /$t`, `f() { declare -g t=tmp/x; }; f; rm -rf /$t`,
		`f() { local t=tmp/x; }; f; t=tmp/y; rm -rf /$t`, `t=tmp/x; f() { local t=tmp/y; }; f; rm -rf /$t`,
		`f() { local t=build; rm -rf $t; }; f; f`,
	} {
		assert.False(t, holds(line), line)
	}
}

// Of several words that vary each value may stand beside each of another's.
func TestVaryingWordsAreCombined(t *testing.T) {
	for _, line := range []string{
		`if a; then d=/; else d=.; fi; if b; then e='-name x'; else e=-delete; fi; find $d $e`,
		`if a; then d=/; e='-name x'; else d=.; e=-delete; fi; find $d $e`,
		`if a; then o=-rf; d=build; else o=--help; d=/; fi; rm $o $d`, `if a; then d=/; o=-print; else d=.; o=-delete; fi; find $d -name '*' $o`,
		`for d in / .; do for e in '-name x' -delete; do find $d $e; done; done`,
	} {
		assert.True(t, holds(line), line)
	}
	for _, line := range []string{
		`if a; then d=src; else d=.; fi; if b; then e='-name x'; else e='-name y -delete'; fi; find $d $e`,
		`for d in a b; do for e in x y; do cp $d/$e $e/$d; done; done`,
		`if a; then o=-r; else o=-f; fi; for d in a b; do rm $o $d; done`,
	} {
		assert.False(t, holds(line), line)
	}
}

// A command's own assignment comes after its words, and an element is no first element.
func TestWordsBeforeAssignments(t *testing.T) {
	for _, line := range []string{
		`t=/home; t=/tmp/x rm -rf $t`, `t=/home; t[1]=/tmp/x; rm -rf $t`, `t=/home; t[1]=/tmp/x; rm -rf "${t}"`,
		`t=/home; t+=([1]=/tmp/x); rm -rf $t`, `t=(/home); t[1]=/tmp/x; rm -rf $t`, `t=/home; t[i]=/tmp/x; rm -rf $t`,
		`t=/home; t[1]=/tmp/x rm -rf $t`, `t=/home; export t[1]=/tmp/x; rm -rf $t`, `t=/home; declare t[1]=/tmp/x; rm -rf $t`,
		`t=/home; printf -v 't[1]' %s /tmp/x; rm -rf $t`, `t=/home; read t[1] <<< /tmp/x; rm -rf $t`,
		`t=/home; mapfile -O 1 t <<< /tmp/x; rm -rf $t`, `t=/home; t=/tmp/x command rm -rf $t`, `t=/home; t=/tmp/x sudo rm -rf $t`,
		`t=/home; t=/tmp/x; unset t; t=/home; t=/tmp/x eval rm -rf $t`, `t=/home; t[0x1]=/tmp/x; rm -rf $t`,
		`t=/home; for t[1] in /tmp/x; do :; done; rm -rf $t`, `t=/home; : ${t[1]:=/tmp/x}; rm -rf $t`, `t=/home; ((t[1]=5)); rm -rf $t`,
		`t=/home; let t[1]=5; rm -rf $t`,
	} {
		assert.True(t, removes(line, "/home"), line)
	}
	for _, line := range []string{`t=/home; t=/tmp/x; rm -rf $t`, `t=/home; t[0]=/tmp/x; rm -rf $t`, `t=/tmp/x; t[1]=/home; echo $t`} {
		assert.False(t, removes(line, "/home"), line)
	}
}
