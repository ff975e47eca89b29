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
		`bind -x '"a":rm -rf /'`,
		`cat /bin/rm > k; ./k -rf /`,
		`cmake -P /dev/stdin <<< 'file(REMOVE_RECURSE /usr)'`,
		`compgen -G '/*' | xargs rm -rf`,
		`cp $(command -v rm) /usr/local/bin/zap; zap -rf /`,
		`echo '<delete dir="/home"/>' > build.xml; ant`,
		`echo cm0gLXJmIC8= > x; base64 -d x | sh`,
		`fish -c 'for d in /*; rm -rf $d; end'`,
		`fish -c 'if true; cd /; rm -rf *; end'`,
		`git clone 'ext::sh -c rm% -rf% /'`,
		`mount --bind /home x/home; rm -rf x`,
		`mvn exec:exec -Dexec.executable=rm -Dexec.args="-rf /"`,
		`parallel {1} {2} {3} ::: rm ::: -rf ::: /`,
		`printf 'select disk 0\nclean\n' | diskpart`,
		`puppet apply -e 'file{"/home": ensure=>absent, force=>true}'`,
		`zsh -c 'zargs -- /home -- rm -rf'`,
	} {
		found := shell(t, line)
		require.NotEmpty(t, append(found.Unread, found.Doubts...), line)
	}
}
