//go:build !linux

package snapshot

import "context"

// Open returns ErrUnsupported on this system.
func Open(Options) (*Layer, error) { return nil, ErrUnsupported }

// Load returns ErrUnsupported on this system.
func Load(string, string) (*Layer, error) { return nil, ErrUnsupported }

// IDs returns none on this system.
func IDs(string) ([]string, error) { return nil, nil }

// DiscardFolder returns ErrUnsupported on this system.
func DiscardFolder(string, string) error { return ErrUnsupported }

// Changes returns ErrUnsupported on this system.
func (l *Layer) Changes(context.Context) (*Changes, error) { return nil, ErrUnsupported }

// Each returns ErrUnsupported on this system.
func (l *Layer) Each(context.Context, func(Change) error) error { return ErrUnsupported }

// Findings returns ErrUnsupported on this system.
func (l *Layer) Findings(context.Context, *Changes, MaxDeleted) (Findings, error) {
	return Findings{}, ErrUnsupported
}

// Conflicts returns ErrUnsupported on this system.
func (l *Layer) Conflicts(context.Context, *Changes) ([]Conflict, error) {
	return nil, ErrUnsupported
}

// Measure returns ErrUnsupported on this system.
func (l *Layer) Measure(context.Context) (Usage, error) { return Usage{}, ErrUnsupported }

// Commit returns ErrUnsupported on this system.
func (l *Layer) Commit(context.Context, string, CommitOptions) (Report, error) {
	return Report{}, ErrUnsupported
}

// Resume returns ErrUnsupported on this system.
func (l *Layer) Resume(context.Context) (Report, error) { return Report{}, ErrUnsupported }

// State returns ErrUnsupported on this system.
func (l *Layer) State() (State, error) { return "", ErrUnsupported }

// Discard returns ErrUnsupported on this system.
func (l *Layer) Discard() error { return ErrUnsupported }

// Inert returns ErrUnsupported.
func (l *Layer) Inert(context.Context, *Changes) ([]Change, error) { return nil, ErrUnsupported }

// MeasureRunning returns ErrUnsupported.
func (l *Layer) MeasureRunning(context.Context, int) (Usage, error) { return Usage{}, ErrUnsupported }

// DescribeAttrs returns nothing on this system.
func (l *Layer) DescribeAttrs(Change) string { return "" }
