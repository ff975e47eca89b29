package sentinel

import "context"

// CodeOmitted is the code of the record that Omit writes.
const CodeOmitted = "limits.omitted"

// Omit records, once, that n proposals of the desk's agent were not looked at:
// those after the first that a spent budget refused, and those beyond what one
// answer of a model may hold. None became a Call and nothing ran. An error wraps
// ErrNotRecorded; for n below 1 nothing is written.
func (d *Desk) Omit(ctx context.Context, n int) error {
	if n < 1 {
		return nil
	}
	dec := Refused(newID(), &CallError{Code: CodeOmitted, Reason: "proposals beyond the budget were left out and are counted here"}, d.p.now())
	dec.BlockedBy = GateLimits
	return d.p.record(ctx, refusedRecord(d.Grant(), dec, 0, n))
}
