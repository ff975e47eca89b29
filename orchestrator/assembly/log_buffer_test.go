package assembly_test

import (
	"bytes"
	"log/slog"
	"sync"
	"time"
)

// took is how long fn takes, in nanoseconds.
func took(fn func()) int64 {
	start := time.Now()
	fn()
	return int64(time.Since(start))
}

func farAway() time.Time { return time.Now().Add(time.Hour) }

// buffer is what a program's log would hold.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (b *buffer) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
