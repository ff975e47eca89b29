// Package grammar reads a text by an operator's words and fixed rules: which action it asks for, about what, and within
// which limits. It makes nothing up: what no rule reads is left out, and a text that can be read in two ways is an error.
//
//	g, err := grammar.Compile(grammar.Options{
//		Languages: []string{"en", "de"},
//		Actions:   map[string][]string{"find_experts": {"find * experts", "suche * experten"}},
//		Topics:    map[string][]string{"supply_chain": {"supply chain", "lieferkette*"}},
//		Currency:  "EUR", References: []string{"doc_"},
//	})
//	draft, err := g.Read("Find 3 experts for the supply chain under five thousand euros by Friday", today)
//
// # Phrases
//
// A phrase is words in any letter case, marks aside. "*" by itself stands for up to five words of the same sentence, at
// the end of a word for its endings. Where two phrases overlap the longer one counts. Languages with spaces between
// words are read; texts of others need phrases for whole runs of letters.
//
// # What is read
//
//   - The action: exactly one must be named. None, two different ones, or one that is negated ("don't pay") is an error:
//     a text that contradicts itself is not guessed at.
//   - The topic: one that is listed, or what stands behind "about", "for" and their like up to the next mark or limit.
//   - Expertise and entities: all that are named.
//   - Money: an amount with a currency, in figures or words: "€5k", "5.000,50 EUR", "zweitausend Euro", "$ 20 million".
//   - Numbers of results and of words: "three experts", "top 5", "at most 200 words".
//   - A deadline: "2026-12-31", "31.12.2026", "December 31st", "by Friday", "in 3 weeks", "morgen".
//   - References: ids that begin with one of the listed beginnings; hosts behind "site", "domain" and their like.
//
// The same limit twice with two values is an error, and so is a negative one, or one with a currency that isn't known.
//
// What not to do: don't list a word as a phrase that people use for something else; a phrase of one short word makes
// texts ambiguous.
//
// The package isn't stable: docs/api.md lists those that are.
package grammar
