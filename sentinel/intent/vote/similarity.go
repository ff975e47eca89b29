package vote

import (
	"math"

	"github.com/vedette-dev/vedette/sentinel/intent"
)

// The weights of the fields, of the seed document.
const (
	weightAction      = 3.0
	weightTopic       = 2.0
	weightExpertise   = 2.0
	weightConstraints = 1.5
)

const (
	// tolerance is how far numbers may differ, of the greater one.
	tolerance = 0.10
	// oneSided is what a constraint counts that one intent alone has.
	oneSided = 0.5
)

// Similarity returns how similar two intents are, from 0 to 1. It is the same in both directions, and 1 for equal ones.
func Similarity(a, b intent.Intent, o Options) float64 { return compare(a, b, o).Similarity }

// compare compares two intents field by field.
func compare(a, b intent.Intent, o Options) Pair {
	p := Pair{Topic: compareTopics(a.Topic(), b.Topic(), o), Expertise: jaccard(a.Expertise(), b.Expertise())}
	if a.Action() == b.Action() {
		p.Action = 1
	}
	p.Constraints = compareConstraints(a, b)
	sum, weights := weightAction*p.Action, weightAction
	for _, f := range []struct {
		value  *float64
		weight float64
	}{{p.Topic, weightTopic}, {p.Expertise, weightExpertise}, {p.Constraints, weightConstraints}} {
		if f.value != nil {
			sum, weights = sum+f.weight*(*f.value), weights+f.weight
		}
	}
	p.Similarity = sum / weights
	return p
}

// compareTopics compares two topics; nil where there is none.
func compareTopics(a, b intent.Topic, o Options) *float64 {
	none := intent.Topic{}
	switch {
	case a == none && b == none:
		return nil
	case a == b:
		return value(1)
	case a == none || b == none:
		return value(0)
	}
	if o.Topics != nil {
		if s, ok := o.Topics(a, b); ok && !math.IsNaN(s) {
			return value(min(max(s, 0), 1))
		}
	}
	return value(dice(a.Words(), b.Words()))
}

// dice is Dice's coefficient of two sets of words.
func dice(a, b []string) float64 {
	one, other := toSet(a), toSet(b)
	if len(one)+len(other) == 0 {
		return 1
	}
	return 2 * float64(countCommon(one, other)) / float64(len(one)+len(other))
}

// jaccard is Jaccard's index of two lists as sets; nil where both are empty.
func jaccard[T comparable](a, b []T) *float64 {
	one, other := toSet(a), toSet(b)
	if len(one)+len(other) == 0 {
		return nil
	}
	common := countCommon(one, other)
	return value(float64(common) / float64(len(one)+len(other)-common))
}

func toSet[T comparable](list []T) map[T]bool {
	out := make(map[T]bool, len(list))
	for _, one := range list {
		out[one] = true
	}
	return out
}

func countCommon[T comparable](a, b map[T]bool) (n int) {
	for one := range a {
		if b[one] {
			n++
		}
	}
	return n
}

// compareConstraints is the mean over the constraints that either has, the references among them; nil where there is none.
func compareConstraints(a, b intent.Intent) *float64 {
	one, other := a.Constraints(), b.Constraints()
	m, n := 0.0, 0
	add := func(f *float64) {
		if f != nil {
			m, n = m+*f, n+1
		}
	}
	add(compareBudgets(one, other))
	add(compareNumbers(one.MaxResults(), other.MaxResults()))
	add(compareNumbers(one.MaxLength(), other.MaxLength()))
	add(comparePresent(!one.Deadline().IsZero(), !other.Deadline().IsZero(), func() bool { return one.Deadline() == other.Deadline() }))
	add(compareLists(one.Domains(), other.Domains()))
	add(compareLists(one.Entities(), other.Entities()))
	add(compareLists(a.References(), b.References()))
	if n == 0 {
		return nil
	}
	return value(m / float64(n))
}

// comparePresent compares a constraint that may be missing on either side.
func comparePresent(a, b bool, equal func() bool) *float64 {
	switch {
	case !a && !b:
		return nil
	case a != b:
		return value(oneSided)
	case equal():
		return value(1)
	}
	return value(0)
}

func compareBudgets(a, b intent.Constraints) *float64 {
	m, hasM := a.Budget()
	n, hasN := b.Budget()
	return comparePresent(hasM, hasN, func() bool { return m.Currency() == n.Currency() && isNear(float64(m.Minor()), float64(n.Minor())) })
}

func compareNumbers(a, b int) *float64 {
	return comparePresent(a != 0, b != 0, func() bool { return isNear(float64(a), float64(b)) })
}

// compareLists compares lists of which one may be missing.
func compareLists[T comparable](a, b []T) *float64 {
	if (len(a) == 0) != (len(b) == 0) {
		return value(oneSided)
	}
	return jaccard(a, b)
}

// isNear reports whether two numbers differ by no more than the tolerance.
func isNear(a, b float64) bool { return math.Abs(a-b) <= tolerance*max(a, b)+rounding }

func value(f float64) *float64 { return &f }
