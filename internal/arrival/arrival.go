// Package arrival carries the requests of tests to servers of their own. A deadline
// ends no such request before its server has read it, or has begun to answer it. So
// a test of a deadline passes also where the machine stands still for a while.
package arrival

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// header tells the server which request it reads.
const header = "Test-Arrival"

// Carrier is a transport that holds a request's end back until the request has
// arrived. It is safe for concurrent use.
type Carrier struct {
	// Next sends the requests.
	Next http.RoundTripper

	mu      sync.Mutex
	number  int
	waiting map[string]*journey
}

// journey is one request on its way.
type journey struct {
	once    sync.Once
	arrived chan struct{} // closed when the request may end
}

// end lets the request end, at its deadline or at once where that has passed.
func (j *journey) end() { j.once.Do(func() { close(j.arrived) }) }

// RoundTrip sends a copy of the request that ends with req's context, but not before
// OnArrival was told of the request or its answer has begun.
func (c *Carrier) RoundTrip(req *http.Request) (*http.Response, error) {
	id, j := c.startJourney()
	ctx, cancel := context.WithCancel(context.WithoutCancel(req.Context()))
	stop := context.AfterFunc(req.Context(), func() {
		<-j.arrived
		cancel()
	})
	release := func() {
		stop()
		c.endJourney(id)
		cancel()
	}
	answered := false
	defer func() { // also where Next panics
		if !answered {
			release()
		}
	}()
	sent := req.Clone(ctx)
	sent.Header.Set(header, id)
	res, err := c.Next.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	answered = true
	j.end()
	res.Body = &body{res.Body, release}
	return res, nil
}

// OnArrival takes the header of a request that its server has read.
func (c *Carrier) OnArrival(h http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.waiting[h.Get(header)]; j != nil {
		j.end()
	}
}

// CloseIdleConnections closes those of Next.
func (c *Carrier) CloseIdleConnections() { (&http.Client{Transport: c.Next}).CloseIdleConnections() }

func (c *Carrier) startJourney() (string, *journey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting = map[string]*journey{}
	}
	c.number++
	id, j := strconv.Itoa(c.number), &journey{arrived: make(chan struct{})}
	c.waiting[id] = j
	return id, j
}

func (c *Carrier) endJourney(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.waiting[id]; j != nil {
		j.end()
		delete(c.waiting, id)
	}
}

// body releases the journey when the answer is closed.
type body struct {
	io.ReadCloser
	release func()
}

// Close closes the answer.
func (b *body) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
