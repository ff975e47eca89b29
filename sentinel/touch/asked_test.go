package touch_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// These lines are harm that is spelt in a way that isn't worked out: they are no
// Dangers, and a person is asked about each.
func TestAskedLines(t *testing.T) {
	for _, line := range []string{
		`ansible all -m file -a 'path=/ state=absent'`,
		`cmake -P /dev/stdin <<< 'file(REMOVE_RECURSE /usr)'`,
		`echo '<delete dir="/home"/>' > build.xml; ant`,
		`fish -c 'for d in /*; rm -rf $d; end'`,
		`fish -c 'if true; cd /; rm -rf *; end'`,
		`mvn exec:exec -Dexec.executable=rm -Dexec.args="-rf /"`,
		`printf 'select disk 0\nclean\n' | diskpart`,
		`puppet apply -e 'file{"/home": ensure=>absent, force=>true}'`,
	} {
		found := shell(t, line)
		require.NotEmpty(t, append(found.Unread, found.Doubts...), line)
	}
}
