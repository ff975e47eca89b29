package admission

import (
	"context"
	"testing"
)

// BenchmarkCredit is one request's way through the pool, beside a buffered
// channel as a plain semaphore, which knows no users, no lives and no queue.
func BenchmarkCredit(b *testing.B) {
	b.Run("semaphore", func(b *testing.B) {
		s := make(chan struct{}, 256)
		for b.Loop() {
			s <- struct{}{}
			<-s
		}
	})
	b.Run("pool", func(b *testing.B) {
		p := New(Options{What: "x", Process: 256, User: 32})
		for b.Loop() {
			c, err := p.Try(Ask{User: "ann"})
			if err != nil {
				b.Fatal(err)
			}
			c.Release()
		}
	})
	b.Run("pool with a life", func(b *testing.B) {
		p := New(Options{What: "x", Process: 256, User: 32})
		life, end := context.WithCancel(b.Context())
		defer end()
		for b.Loop() {
			c, err := p.Try(Ask{User: "ann", Life: life})
			if err != nil {
				b.Fatal(err)
			}
			c.Release()
		}
	})
	b.Run("refusal", func(b *testing.B) {
		p := New(Options{What: "x", Process: 1})
		if _, err := p.Try(Ask{User: "ann"}); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := p.Try(Ask{User: "bob"}); err == nil {
				b.Fatal("there was room")
			}
		}
	})
}

// BenchmarkContended is a request that waits for its turn among 64 askers of
// eight users, beside the semaphore's.
func BenchmarkContended(b *testing.B) {
	b.Run("semaphore", func(b *testing.B) {
		s := make(chan struct{}, 4)
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				s <- struct{}{}
				<-s
			}
		})
	})
	b.Run("pool", func(b *testing.B) {
		p := New(Options{What: "x", Process: 4, Waiting: 1000, UserWaiting: 1000})
		users := make(chan string, 8)
		for _, u := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			users <- u
		}
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			user := <-users
			users <- user
			for pb.Next() {
				c, err := p.Acquire(context.Background(), Ask{User: user})
				if err != nil {
					b.Error(err)
					return
				}
				c.Release()
			}
		})
	})
}
