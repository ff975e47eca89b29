package touch_test

import "testing"

// What fd finds is what its command is given, whatever its options; writing to
// every file below the root removes them all.
func TestWhatIsFoundIsTouched(t *testing.T) {
	refused(t,
		"fd . / -x rm", "fd -t f . / -X rm -rf", "fd -tf . / --exec-batch rm", "fd --type f . / -X rm", "fd -H --max-depth 9 . / -x rm",
		`find / -type f -size +0 -exec rm -f {} \;`, `find / -type f -exec sh -c '> {}' \;`,
		`find / -type f -exec dd if=/dev/zero of={} bs=1M count=1 \;`, "echo x > /",
	)
	passes(t,
		"fd f", "fd --type f x src -X rm", "fd -t f -e pyc -x rm", `find . -name '*.log' -exec truncate -s 0 {} \;`,
		`find src -type f -size +1M -exec ls {} \;`,
		`find . -type f -exec sh -c 'wc -l {}' \;`, "dd if=/dev/zero of=x bs=1M count=1",
	)
}
