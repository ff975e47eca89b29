package ledger

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"runtime"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// chunkSize is how many records are hashed at a time by one goroutine: a block of ledger_times.
const chunkSize = timesBlock

// maxHashers is how many goroutines hash records. Each has a connection of its own.
const maxHashers = 4

// chunk is what became of the records from one index on: their hashes, as far as they could be read.
type chunk struct {
	from        int64
	hashes      []tlog.Hash
	first, last int64 // times of the first and the last that was read, in ns
	blocks      []timesRow
	lies        []Problem
	signed      int64 // by keys of agents, of those that were checked
	// short is set where the record behind the last hash could not be read as one; gap where it isn't there.
	short, gap bool
	err        error
}

// errStop ends the reading of a chunk that is short.
var errStop = errors.New("stop")

// hashChunks hashes the records from one place up to another in several goroutines and gives the chunks out in order.
// Stop it by cancelling ctx, and drain the channel.
func hashChunks(ctx context.Context, r *store.Reader, begin, end int64, also rowChecks) <-chan chan chunk {
	workers := min(maxHashers, runtime.GOMAXPROCS(0))
	out := make(chan chan chunk, workers)
	free := make(chan struct{}, workers)
	go func() {
		defer close(out)
		for from := begin; from < end; from += chunkSize {
			select {
			case free <- struct{}{}:
			case <-ctx.Done():
				return
			}
			done := make(chan chunk, 1)
			go func() {
				defer func() { <-free }()
				done <- hashChunk(ctx, r, from, min(from+chunkSize, end), also)
			}()
			select {
			case out <- done:
			case <-ctx.Done():
				<-done
				return
			}
		}
	}()
	return out
}

const sqlChunk = "SELECT " + sqlColumns + " FROM ledger_records WHERE idx >= ? AND idx < ? ORDER BY idx"

// hashChunk hashes the records from one index to another.
func hashChunk(ctx context.Context, r *store.Reader, from, to int64, also rowChecks) chunk {
	c := chunk{from: from, hashes: make([]tlog.Hash, 0, to-from)}
	var leaf []byte
	c.err = r.Scan(ctx, sqlChunk, func(row []driver.Value) error {
		index, ok := row[0].(int64)
		if at := from + int64(len(c.hashes)); ok && index != at {
			c.gap = true
			return errStop
		}
		ns, known := row[2].(int64)
		if leaf, ok = appendRow(leaf[:0], row); !ok || !known {
			c.short = true
			return errStop
		}
		if len(c.hashes) == 0 {
			c.first = ns
		}
		c.last = ns
		c.blocks = addTime(c.blocks, index, from, ns)
		c.hashes = append(c.hashes, tlog.RecordHash(leaf))
		also.check(&c, row, index)
		return nil
	}, from, to)
	if errors.Is(c.err, errStop) {
		c.err = nil
	}
	c.gap = c.gap || !c.short && int64(len(c.hashes)) < to-from
	return c
}

// rowChecks are what is checked of each record beside its hash; nil ones are left out.
type rowChecks struct {
	derive DeriveFunc
	agent  func(row []driver.Value, index int64) (signed bool, problem string)
}

func (k rowChecks) check(c *chunk, row []driver.Value, index int64) {
	if k.derive != nil {
		c.lies = append(c.lies, findLies(row, index, k.derive)...)
	}
	if k.agent == nil {
		return
	}
	signed, problem := k.agent(row, index)
	if signed {
		c.signed++
	}
	if problem != "" {
		c.lies = append(c.lies, Problem{Kind: BadAgent, From: index, To: index + 1, Detail: problem})
	}
}

// appendRow is appendLeaf for a row of sqlColumns. ok is false where a column has another type than it was
// written with.
func appendRow(b []byte, row []driver.Value) (_ []byte, ok bool) {
	index, ok1 := row[0].(int64)
	ns, ok2 := row[2].(int64)
	body, ok3 := row[len(row)-1].([]byte)
	if !ok1 || !ok2 || !ok3 {
		return b, false
	}
	b = append(b, leafTag...)
	b = binary.BigEndian.AppendUint64(b, uint64(index))
	b = binary.BigEndian.AppendUint64(b, uint64(ns))
	for i, v := range row[:len(row)-1] {
		if i == 0 || i == 2 {
			continue
		}
		s, ok := v.(string)
		if !ok {
			return b, false
		}
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	return append(b, body...), true
}

// Column is a value that the body of a record gives for one of its columns.
type Column struct {
	// Name is the column's: call, decision, conversation, user, agent, skill, outcome, gate or code.
	Name string
	// OneOf are the values that the column may have.
	OneOf []string
}

// DeriveFunc reads the body of a record and returns what it says of the record's columns. It must be safe for
// concurrent use.
type DeriveFunc func(kind string, body []byte) []Column

// findLies compares the columns of a row, which queries go by, with what its body says.
func findLies(row []driver.Value, index int64, derive DeriveFunc) []Problem {
	kind, _ := row[3].(string)
	body, _ := row[len(row)-1].([]byte)
	var out []Problem
	for _, c := range derive(kind, body) {
		at := columnPlace(c.Name)
		if at < 0 {
			continue
		}
		shown, _ := row[at].(string)
		agrees := false
		for _, v := range c.OneOf {
			agrees = agrees || v == shown
		}
		if !agrees {
			out = append(out, Problem{Kind: BadColumn, From: index, To: index + 1, Detail: "column " + c.Name + " is not what its body says"})
		}
	}
	return out
}

// columnPlace is where a column stands in sqlColumns, -1 where there is none of that name.
func columnPlace(name string) int {
	for i, c := range [...]string{
		"idx", "id", "time", "kind", "call", "decision", "conversation", "user", "agent", "skill", "outcome", "gate", "code", "body",
	} {
		if c == name {
			return i
		}
	}
	return -1
}

// timeOf is a time of a record.
func timeOf(ns int64) time.Time { return time.Unix(0, ns).UTC() }
