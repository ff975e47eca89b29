package limits

import "fmt"

// CheckTake returns what is wrong with the questions of a Take, an ErrRequest,
// or nil. Every Store asks it first, so that all refuse alike.
func CheckTake(id string, buckets []Bucket) error {
	if id == "" {
		return fmt.Errorf("%w: no id", ErrRequest)
	}
	if len(buckets) == 0 {
		return fmt.Errorf("%w: no bucket", ErrRequest)
	}
	for i, b := range buckets {
		if b.Key == "" || b.Window < 0 {
			return fmt.Errorf("%w: bucket %d has no key or a negative window", ErrRequest, i)
		}
		for _, other := range buckets[:i] {
			if other.Key == b.Key {
				return fmt.Errorf("%w: bucket %d is named twice", ErrRequest, i)
			}
		}
	}
	return nil
}

// CheckForget returns what is wrong with the prefix of a Forget, an ErrRequest,
// or nil.
func CheckForget(prefix string) error {
	if ownerSegment(prefix) == "" {
		return fmt.Errorf("%w: forget needs an owner", ErrRequest)
	}
	return nil
}

// CheckBreaker returns what is wrong with a question about a breaker, an
// ErrRequest, or nil.
func CheckBreaker(key, callID string, rule Rule) error {
	if key == "" || callID == "" {
		return fmt.Errorf("%w: no key or no call id", ErrRequest)
	}
	if rule.Failures <= 0 || rule.Window <= 0 || rule.OpenFor <= 0 {
		return fmt.Errorf("%w: a rule's numbers must be positive", ErrRequest)
	}
	return nil
}

// CheckOutcome returns an ErrRequest for an outcome that is none.
func CheckOutcome(o Outcome) error {
	if o < Succeeded || o > Abandoned {
		return fmt.Errorf("%w: unknown outcome %d", ErrRequest, o)
	}
	return nil
}

// CheckMeters returns what is wrong with the questions of a Hold or a Spend, an
// ErrRequest, or nil.
func CheckMeters(id string, meters []Meter) error {
	if id == "" || len(meters) == 0 {
		return fmt.Errorf("%w: no id or no meter", ErrRequest)
	}
	for i, m := range meters {
		if m.Key == "" || m.Window < 0 || m.Fold < 0 || m.Amount < 0 || m.Amount > maxAmount || m.Max > maxAmount {
			return fmt.Errorf("%w: meter %d has no key, a negative window or fold, or an impossible amount", ErrRequest, i)
		}
		for _, other := range meters[:i] {
			if other.Key == m.Key {
				return fmt.Errorf("%w: meter %d is named twice", ErrRequest, i)
			}
		}
	}
	return nil
}
