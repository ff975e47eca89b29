package approval

import (
	"strconv"
	"time"

	"github.com/vedette-dev/vedette/internal/plainjson"
)

// AppendJSON appends the item as encoding/json writes it. Lists of thousands are written so: reflection
// takes several times as long.
func (i *Item) AppendJSON(b []byte) []byte {
	for _, f := range []struct{ key, value string }{
		{`{"id":`, i.ID}, {`,"call":`, i.Call}, {`,"conversation":`, i.Conversation}, {`,"turn":`, i.Turn}, {`,"agent":`, i.Agent},
		{`,"user":`, i.User},
	} {
		b = appendText(append(b, f.key...), f.value)
	}
	b = appendOptional(b, `,"proposer":`, i.Proposer)
	b = appendText(append(b, `,"skill":`...), i.Skill)
	b = appendText(append(b, `,"effect":`...), string(i.Effect))
	b = strconv.AppendBool(append(b, `,"outward":`...), i.Outward)
	b = strconv.AppendBool(append(b, `,"tainted":`...), i.Tainted)
	b = appendOptional(b, `,"commits":`, i.Commits)
	b = appendOptional(b, `,"commits_effect":`, string(i.CommitsEffect))
	b = appendText(append(b, `,"digest":`...), i.Digest)
	b = appendTime(append(b, `,"asked":`...), i.Asked)
	b = appendTime(append(b, `,"expires":`...), i.Expires)
	b = appendText(append(b, `,"state":`...), string(i.State))
	b = appendOptional(b, `,"code":`, i.Code)
	b = strconv.AppendInt(append(b, `,"needed":`...), int64(i.Needed), 10)
	b = strconv.AppendInt(append(b, `,"yes":`...), int64(i.Yes), 10)
	if i.Place != 0 {
		b = strconv.AppendInt(append(b, `,"place":`...), int64(i.Place), 10)
	}
	if i.Of != 0 {
		b = strconv.AppendInt(append(b, `,"of":`...), int64(i.Of), 10)
	}
	b = appendOptional(b, `,"by":`, i.By)
	b = appendOptional(b, `,"via":`, i.Via)
	if !i.At.IsZero() {
		b = appendTime(append(b, `,"at":`...), i.At)
	}
	return append(b, '}')
}

// appendOptional appends a member unless its text is empty.
func appendOptional(b []byte, key, value string) []byte {
	if value == "" {
		return b
	}
	return appendText(append(b, key...), value)
}

// appendText appends a string of JSON. What needs an escape is left to the encoder.
func appendText(b []byte, s string) []byte {
	for n := range len(s) {
		if c := s[n]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := plainjson.Marshal(s) // a string always works
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// appendTime appends a moment of the database's, which has milliseconds and is UTC.
func appendTime(b []byte, t time.Time) []byte {
	return append(t.AppendFormat(append(b, '"'), time.RFC3339Nano), '"')
}
