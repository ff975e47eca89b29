package chat

import (
	"github.com/vedette-dev/vedette/sentinel/stream/span"
)

// The members that are known. One that resembles them in other letters is taken for a call.
var (
	chunkNames = []string{"id", "object", "created", "model", "choices", "usage", "error"}
	innerNames = []string{"index", "delta", "message", "finish_reason", "logprobs", "role", "content", "refusal", "tool_calls",
		"function_call", "id", "type", "function", "name", "arguments", "custom"}
)

// isHarmless reports whether a member that isn't known can't carry a call.
func isHarmless(key, value []byte, known []string) bool {
	return span.IsEmpty(value) || !span.MayCarryCall(key, value) && !span.Resembles(key, known...)
}

// scanChunk looks at a chunk's members. It reports false where the chunk breaks the format.
func (c *Codec) scanChunk(ch *chunk) bool {
	for it := span.Members(ch.data); it.Next(); {
		switch string(it.Key) {
		case "usage":
			if ch.usage = !span.IsNull(it.Value); !span.Counts(it.Value) {
				ch.unknown = ".usage"
			}
		case "error":
			if !span.IsNull(it.Value) {
				ch.fault = it.Value
			}
		case "choices":
			ch.list = it.Value
			if !c.scanChoices(ch, it.Value, it.From) {
				return false
			}
		case "id", "object", "created", "model", "system_fingerprint", "service_tier", "obfuscation":
			if span.HoldsCall(it.Value) {
				ch.unknown = "." + string(it.Key)
			}
		default:
			if !isHarmless(it.Key, it.Value, chunkNames) {
				ch.unknown = "." + string(it.Key)
			}
		}
	}
	return true
}

func (c *Codec) scanChoices(ch *chunk, list []byte, base int) bool {
	if span.IsNull(list) {
		return true
	}
	if list[0] != '[' {
		return false
	}
	for it := span.Elements(list); it.Next(); {
		if it.Value[0] != '{' || !c.scanChoice(ch, it.Value, base+it.From) {
			return false
		}
		ch.choices++
	}
	return true
}

func (c *Codec) scanChoice(ch *chunk, choice []byte, base int) bool {
	n, role, ok := laneNumber(choice, ch.choices), false, true
	l := c.laneOf(n)
	if l == nil {
		return false
	}
	ch.lane = n
	for it := span.Members(choice); it.Next(); {
		switch string(it.Key) {
		case "index", "logprobs":
		case "finish_reason":
			if span.IsNull(it.Value) {
				continue
			}
			reason, isText := span.Text(it.Value)
			ok = ok && isText
			ch.reasons++
			ch.reason, ch.place = string(reason), span.Place{From: base + it.From, To: base + it.From + len(it.Value)}
		case "delta":
			ok = ok && (it.Value[0] == '{' || span.IsNull(it.Value))
			role = scanDelta(ch, it.Value)
		default:
			if !isHarmless(it.Key, it.Value, innerNames) {
				ch.unknown = "." + string(it.Key)
			}
		}
	}
	if ch.unknown == "" {
		l.seen++
		l.role = l.role || role
	}
	ch.rewrite = ch.rewrite || !l.role || l.ended
	return ok
}

// laneNumber returns a choice's index; where it names none that is its place. -1 is no index.
func laneNumber(choice []byte, place int) int {
	value := span.Member(choice, "index")
	if value == nil || span.IsNull(value) {
		return place
	}
	n, ok := span.Number(value)
	if !ok {
		return -1
	}
	return n
}

// scanDelta looks at a delta and reports whether it holds a role.
func scanDelta(ch *chunk, delta []byte) (role bool) {
	for it := span.Members(delta); it.Next(); {
		switch string(it.Key) {
		case "role":
			role = !span.IsNull(it.Value)
			fallthrough
		case "content", "refusal", "reasoning", "reasoning_content":
			if it.Value[0] != '"' && span.HoldsCall(it.Value) {
				ch.unknown = "." + string(it.Key)
			}
			ch.text = ch.text || string(it.Key) != "role" && !span.IsEmpty(it.Value)
		case "tool_calls":
			switch {
			case span.IsEmpty(it.Value):
			case it.Value[0] == '[':
				ch.calls++
			default:
				ch.unknown = "." + string(it.Key)
			}
		case "function_call":
			switch {
			case span.IsNull(it.Value):
			case it.Value[0] == '{':
				ch.calls++
			default:
				ch.unknown = "." + string(it.Key)
			}
		default:
			if !isHarmless(it.Key, it.Value, innerNames) {
				ch.unknown = "." + string(it.Key)
			}
		}
	}
	return role
}

// learnHead keeps the members that all chunks have in common, of the first chunk with an id.
func (c *Codec) learnHead(data []byte) {
	if c.headID {
		return
	}
	var head []byte
	for it := span.Members(data); it.Next(); {
		switch string(it.Key) {
		case "id":
			if c.headID = !span.IsEmpty(it.Value); !c.headID {
				continue
			}
		case "created", "model", "system_fingerprint", "service_tier":
		default:
			continue
		}
		head = append(append(span.AppendQuote(head, string(it.Key)), ':'), it.Value...)
		head = append(head, ',')
	}
	c.head = head
}
