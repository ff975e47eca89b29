// Package benchmarks measures Vedette beside other engines. It is a module of
// its own, so that the product depends on none of them:
//
//	cd benchmarks && go test -run xxx -bench . .
//
// The permission rules of a small office are written three times, for the
// permission gate, for Open Policy Agent and for Cedar, and the same calls are
// put to all three. A test holds the three to the same outcome for each call:
// a comparison of engines that answer differently would say nothing.
//
// Cedar knows allow and deny alone, so its ask is a forbid that is annotated as
// one, and what asks for the outcome reads the annotations of the policies that
// decided. Calls are within their schemas: where an argument is absent the three
// differ by design (the permission gate denies what it can't evaluate, the other
// two pass over it), and Vedette's schema gate refuses such a call anyway.
//
// After a change to the product's go.mod run go mod tidy here as well.
//
// What not to do: don't read these figures as Vedette's speed. The rows that
// say gates do much more than the two libraries do: canonical form, schema,
// scope, what the call touches, the guard and the judge.
package benchmarks
