package judge_test

import (
	"testing"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// A limit of an earlier turn still stands, and the price may stand in the record alone. Both are in doubt, since the limit
// may have been on something else. A limit of this request replaces it, and so does an amount that the user names.
func TestALimitOfAnEarlierTurn(t *testing.T) {
	const schema = `{"type":"object","properties":{"offer_id":{"type":"string","x-target":true},"price":{"type":"number"}},` +
		`"required":["offer_id"]}`
	const offers = "F-1 1,390 SAR 23:40\nF-2 1,980 SAR 10:15"
	book := ask{skill: "travel.book", schema: schema, effect: skills.CostsMoney, reaches: skills.Others}
	for name, tc := range map[string]struct {
		request, args, result string
		earlier               []string
		want                  string
	}{
		"in Arabic":       {"احجز لي ياها", `{"offer_id":"F-2"}`, offers, []string{"التذكرة مش أكتر من 1500 ريال"}, "?over_earlier_limit"},
		"in English":      {"book it", `{"offer_id":"F-2"}`, offers, []string{"no more than 1500 please"}, "?over_earlier_limit"},
		"in this request": {"book it, at most 1500", `{"offer_id":"F-2"}`, offers, nil, "?over_earlier_limit"},
		"as an argument": {"book it", `{"offer_id":"F-2","price":1980}`, offers, []string{"no more than 1500 please"},
			"?over_earlier_limit"},
		"a record in JSON": {"book it", `{"offer_id":"F-2"}`, `[{"id":"F-2","price":1980}]`, []string{"at most 1500"},
			"?over_earlier_limit"},
		"within it":   {"book it", `{"offer_id":"F-1"}`, offers, []string{"no more than 1500 please"}, "!over_earlier_limit"},
		"a newer one": {"ok, at most 2000", `{"offer_id":"F-2"}`, offers, []string{"at most 1500"}, "!over_earlier_limit"},
		"an amount of the user": {"ok, book it for 1980", `{"offer_id":"F-2","price":1980}`, offers, []string{"at most 1500"},
			"!over_earlier_limit"},
		"no limit":           {"book it", `{"offer_id":"F-2"}`, offers, []string{"when is the first one?"}, "!over_earlier_limit"},
		"things are counted": {"book it", `{"offer_id":"F-2"}`, offers, []string{"at most 3 stops"}, "!over_earlier_limit"},
	} {
		t.Run(name, func(t *testing.T) {
			book.request, book.args, book.earlier = tc.request, tc.args, tc.earlier
			book.before = []sentinel.Step{{Skill: "travel.search", Args: `{}`, Result: tc.result, Trust: skills.Untrusted, Effect: skills.Read}}
			requireSignal(t, book.decide(t), tc.want)
		})
	}
}
