package sentinel

// After returns the trace of a desk behind one more step.
func After(d *Desk, s Step) Trace { return d.Trace().with(s) }
