package evidence

import "strings"

// countEdits returns how many insertions, deletions, substitutions and swaps of neighbours make b
// of a, and most+1 where it is more than most. It needs time in proportion to length and most.
func countEdits(a, b string, most int) int {
	x, y := []rune(a), []rune(b)
	if abs(len(x)-len(y)) > most {
		return most + 1
	}
	rows := [3][]int{make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)}
	far := most + 1
	for j := range rows[0] {
		rows[0][j] = min(j, far)
	}
	for i := 1; i <= len(x); i++ {
		before, last, row := rows[(i+1)%3], rows[(i-1)%3], rows[i%3]
		from, to := max(1, i-most), min(len(y), i+most)
		row[0] = min(i, far)
		if from > 1 {
			row[from-1] = far
		}
		least := row[from-1]
		for j := from; j <= to; j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			n := last[j-1] + cost
			if j < i+most {
				n = min(n, last[j]+1)
			}
			n = min(n, row[j-1]+1)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				n = min(n, before[j-2]+1)
			}
			row[j] = min(n, far)
			least = min(least, row[j])
		}
		if to < len(y) {
			row[to+1] = far
		}
		if least > most && i > 1 {
			return far
		}
	}
	return rows[len(x)%3][len(y)]
}

func abs(n int) int { return max(n, -n) }

// isSwap reports whether two neighbours, and nothing else, stand in the other order.
func isSwap(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

var lookalikes = strings.NewReplacer(
	"а", "a", "е", "e", "о", "o", "р", "p", "с", "c", "х", "x", "у", "y", "і", "l", "ѕ", "s", "ј", "j",
	"ԁ", "d", "һ", "h", "к", "k", "м", "m", "т", "t", "в", "b", "н", "h", "ӏ", "l", "ԛ", "q", "ԝ", "w",
	"α", "a", "ο", "o", "ρ", "p", "ε", "e", "ι", "l", "κ", "k", "ν", "v", "τ", "t", "υ", "u", "χ", "x", "ı", "l", "ɑ", "a", "ɡ", "g",
	"rn", "m", "vv", "w", "cl", "d", "1", "l", "i", "l", "|", "l", "0", "o", "5", "s",
)

// skeletonOf writes letters and groups of letters as those that they look like.
func skeletonOf(fold string) string { return lookalikes.Replace(fold) }
