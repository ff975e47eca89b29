package programs

import "testing"

func BenchmarkLoadTable(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := loadTable(tableFiles); err != nil {
			b.Fatal(err)
		}
	}
}
