package egress

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// startRelay returns a relay between two pipes, started, and their far ends.
func startRelay(t *testing.T, r *relay) (program, host net.Conn, ended chan struct{}) {
	t.Helper()
	r.active.Store(time.Now().UnixNano())
	near, program := net.Pipe()
	far, host := net.Pipe()
	a, b, c := r.newSide(near), r.newSide(far), newChunks()
	ended = make(chan struct{}, 2)
	go func() { c.carryStream(b, a); ended <- struct{}{} }()
	go func() { c.carryStream(a, b); ended <- struct{}{} }()
	return program, host, ended
}

// A connection lasts while one half is at work, and ends when neither is.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &relay{idle: time.Minute}
		program, host, ended := startRelay(t, r)
		start := time.Now()
		for range 10 { // the host talks, the program listens
			time.Sleep(50 * time.Second)
			_, err := host.Write([]byte("x"))
			require.NoError(t, err)
			_, err = io.ReadFull(program, make([]byte, 1))
			require.NoError(t, err)
		}
		require.Equal(t, Connected, r.finalOutcome())
		<-ended
		<-ended
		require.Equal(t, Idle, r.finalOutcome())
		require.LessOrEqual(t, time.Since(start), 500*time.Second+2*time.Minute)
		_, err := host.Write([]byte("x"))
		require.ErrorIs(t, err, io.ErrClosedPipe)
	})
}

// A side that takes nothing ends the connection too.
func TestIdleReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &relay{idle: time.Minute}
		program, host, ended := startRelay(t, r)
		_, err := host.Write([]byte("x"))
		require.NoError(t, err)
		<-ended
		<-ended
		require.Equal(t, Idle, r.finalOutcome())
		_ = program.Close()
	})
}

// All relays of a run share its bytes; not one byte more is written.
func TestBytesOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left atomic.Int64
		left.Store(10)
		r := &relay{idle: time.Minute, left: &left}
		program, host, ended := startRelay(t, r)
		_, err := program.Write([]byte("12345678"))
		require.NoError(t, err)
		_, err = io.ReadFull(host, make([]byte, 8))
		require.NoError(t, err)
		_, err = host.Write([]byte("123"))
		require.NoError(t, err)
		rest, err := io.ReadAll(program)
		require.NoError(t, err)
		require.Empty(t, rest)
		<-ended
		<-ended
		require.Equal(t, TooLong, r.finalOutcome())
	})
}
