package sentinel

// HeardBy returns how many steps of others a desk has heard of.
func HeardBy(d *Desk) int { return len(d.Trace().heard) }

// After returns the trace of a desk behind one more step.
func After(d *Desk, s Step) Trace { return d.Trace().withStep(s) }
