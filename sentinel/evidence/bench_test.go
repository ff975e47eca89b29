package evidence_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vedette-dev/vedette/sentinel/evidence"
	"github.com/vedette-dev/vedette/skills"
)

// hostileResults are results of 1 MB that are made to cost much.
func hostileResults() map[string]string {
	fill := func(part func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < 1<<20; i++ {
			b.WriteString(part(i))
		}
		return b.String()
	}
	return map[string]string{
		"addresses": fill(func(i int) string { return fmt.Sprintf("eva.lund%d@kalmia%d.example ", i%9, i) }),
		"accounts":  fill(func(i int) string { return fmt.Sprintf("DE44 5001 0517 %04d 3249 31\n", i%10000) }),
		"digits":    strings.Repeat("4", 1<<20),
		"ids":       fill(func(i int) string { return fmt.Sprintf("ev-%d ", i) }),
		"breaks":    strings.Repeat("\n", 1<<20),
		"sums":      fill(func(i int) string { return fmt.Sprintf("%d.50 EUR ", i) }),
		"same word": strings.Repeat("eva ", 1<<18),
		"records":   fill(func(i int) string { return fmt.Sprintf("Eva %d | eva%d@x.example; ", i, i) }),
		"json list": "[" + strings.Repeat("1,", 1<<19) + "1]",
		"json deep": strings.Repeat(`{"a":[`, 1<<17),
		"json rows": `{"rows":[` + fill(func(i int) string { return fmt.Sprintf(`{"name":"Eva %d","email":"eva%d@x.example"},`, i, i) }) + `{}]}`,
		"script":    strings.Repeat("Ева́ ", 1<<17),
		"puny":      strings.Repeat("xn--mnchen-3ya.de ", 1<<16),
	}
}

// payments is a call with many values of every kind, none of which was seen.
func payments(n int) []evidence.Argument {
	var out []evidence.Argument
	add := func(name string, i int, v any, k evidence.Kind) {
		out = append(out, evidence.Argument{Pointer: fmt.Sprintf("/%s/%d", name, i), Name: name, Value: v, Declared: true, Kind: k})
	}
	for i := range n {
		add("to", i, fmt.Sprintf("eva.lunt%d@kalmia%d.test", i, i), evidence.Recipient)
		add("iban", i, fmt.Sprintf("DE44 5001 0517 %04d 3294 31", i), evidence.Account)
		add("ids", i, fmt.Sprintf("ev-9%d", i), evidence.Reference)
		add("amount", i, fmt.Sprintf("%d.37", 1000+i), evidence.Amount)
		add("day", i, fmt.Sprintf("2026-12-%02d", i%28+1), evidence.Date)
	}
	return out
}

// What a result of 1 MB costs that an attacker made, with one value of each kind and with as many
// as are looked for. reading is the part that a caller keeps with the result.
func BenchmarkHostile(b *testing.B) {
	for name, result := range hostileResults() {
		b.Run("reading/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(result)))
			for b.Loop() {
				evidence.ReadResult(result)
			}
		})
		for _, n := range []int{1, 16} {
			in := evidence.Input{Skill: "bank.pay", Effect: skills.CostsMoney, Request: "Pay Eva Lund 48 EUR on 5 December", Arguments: payments(n),
				History: []evidence.Step{{Number: 1, Skill: "mail.read", Result: result}, {Number: 2, Skill: "contacts.get", Result: result,
					Trust: evidence.Trusted}}}
			b.Run(fmt.Sprintf("build/%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					r := evidence.Build(in)
					r.Question()
				}
			})
		}
	}
}

// What an ordinary call costs, with the readings of its history at hand and without.
func BenchmarkOrdinary(b *testing.B) {
	in := twoEvas(`eva.lund@kalmia.example`)
	b.Run("unread", func(b *testing.B) {
		for b.Loop() {
			r := evidence.Build(in)
			r.Question()
		}
	})
	for i := range in.History {
		in.History[i].Read = evidence.ReadResult(in.History[i].Result)
	}
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			r := evidence.Build(in)
			r.Question()
		}
	})
}
