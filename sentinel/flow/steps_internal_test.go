package flow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// countSteps is how many bytes one comparison reads or looks up.
func countSteps(in Input) int {
	f := newFinder(in)
	f.run()
	return maxSteps - f.steps
}

func sourceOf(text string, isPrivate bool) Source {
	s := NewSource("vault.read", text, text)
	s.Private, s.Step = isPrivate, 1
	return s
}

func sentOf(values ...string) Sent {
	out := Sent{Domain: "web", To: []string{"host x.test"}}
	for _, v := range values {
		out.Texts = append(out.Texts, Text{Arg: "body", Value: v})
	}
	return out
}

// What is made to be slow costs no more for each byte than other text: twice the bytes, twice
// the steps, in each shape that repeats itself.
func TestStepsAreLinear(t *testing.T) {
	shapes := map[string]func(size int) Input{
		"a link of the result": func(n int) Input {
			link := "https://x.test/" + strings.Repeat("abcd", n/4)
			return Input{Sources: []Source{sourceOf("see "+link, true)}, Now: sentOf(link)}
		},
		"a public key in a link": func(n int) Input {
			key := "sk-" + strings.Repeat("abcd", n/4)
			return Input{Sources: []Source{sourceOf(key+" see https://x.test/"+key, false)}, Now: sentOf("https://x.test/" + key)}
		},
		"a target": func(n int) Input {
			in := Input{Sources: []Source{sourceOf(strings.Repeat("abcd", n/4), true)}, Now: sentOf(strings.Repeat("abcd", n/4))}
			in.Now.Texts[0].Target = true
			return in
		},
		"short matches": func(n int) Input {
			return Input{Sources: []Source{sourceOf(strings.Repeat("abcdabcdabcdabcdabcdabcdabcda y", n/31), true)},
				Now: sentOf(strings.Repeat("abcdabcdabcdabcdabcdabcdabcdab z", n/32))}
		},
		"the same number": func(n int) Input {
			return Input{Sources: []Source{sourceOf(strings.Repeat("48213 ", n/6), true)}, Now: sentOf(strings.Repeat("48213 ", n/6))}
		},
		"many arguments": func(n int) Input {
			return Input{Sources: []Source{sourceOf(strings.Repeat("48213 ", n/6), true)},
				Now: sentOf(strings.Fields(strings.Repeat("48213 ", n/6))...)}
		},
		"letters": func(n int) Input {
			return Input{Sources: []Source{sourceOf("account 123456789", true)}, Now: sentOf(strings.Repeat("a b c ", n/6))}
		},
	}
	for name, shape := range shapes {
		for _, size := range []int{2 << 10, 16 << 10, 48 << 10} {
			steps := countSteps(shape(size))
			require.Positive(t, steps, name)
			require.LessOrEqual(t, steps, 64*size, fmt.Sprint(name, " of ", size))
		}
	}
}
