package otp

import (
	"context"
	"log/slog"
)

// bareHandler passes Proto.Actor's warnings on without their attributes, which
// hold whole messages and panic values.
type bareHandler struct{ to slog.Handler }

func (h bareHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.to.Enabled(ctx, l)
}

func (h bareHandler) Handle(ctx context.Context, r slog.Record) error {
	return h.to.Handle(ctx, slog.NewRecord(r.Time, r.Level, "protoactor: "+r.Message, r.PC))
}

func (h bareHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h bareHandler) WithGroup(string) slog.Handler { return h }
