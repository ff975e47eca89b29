package sentinel_test

import (
	"strings"
	"testing"

	"github.com/vedette-dev/vedette/sentinel"
)

// BenchmarkTextMarks marks results of plain prose: the cost must be linear.
func BenchmarkTextMarks(b *testing.B) {
	prose := "The minutes of Monday: we agreed on the budget, on the new kitchen (see annex 3), and to meet again at 10:30. "
	for _, size := range []int{1 << 10, 10 << 10, 100 << 10} {
		text := strings.Repeat(prose, size/len(prose)+1)[:size]
		b.Run(sizeName(size), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if len(sentinel.TextMarks(text)) != 0 {
					b.Fatal("prose is marked")
				}
			}
		})
	}
}

func sizeName(n int) string {
	switch n >> 10 {
	case 1:
		return "1KB"
	case 10:
		return "10KB"
	}
	return "100KB"
}
