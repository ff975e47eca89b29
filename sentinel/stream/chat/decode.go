package chat

import (
	"github.com/vedette-dev/vedette/sentinel/stream"
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
			if !span.IsEmpty(it.Value) {
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

// splitChunk takes a chunk apart that holds more than one thing: for each choice what is no call,
// then its calls, then its reason.
func (c *Codec) splitChunk(events []stream.Event, ch *chunk) ([]stream.Event, error) {
	place := 0
	for it := span.Elements(ch.list); it.Next(); place++ {
		n := laneNumber(it.Value, place)
		l, delta := c.lanes[n], span.Member(it.Value, "delta")
		if l.ended {
			if holdsCalls(delta) {
				return events, &stream.Error{Code: stream.CodeLate}
			}
			continue
		}
		if rest := c.writeRest(ch.data, it.Value, delta, l); rest != nil {
			events = c.closeCalls(events, l, false)
			events = append(events, stream.Event{Kind: stream.Pass, Raw: rest, Lane: n})
		}
		events = c.readCalls(events, n, delta)
		if reason, ok := span.Text(span.Member(it.Value, "finish_reason")); ok {
			l.ended = true
			events = c.closeCalls(events, l, true)
			events = append(events, stream.Event{Kind: stream.Finish, Lane: n, Reason: string(reason)})
		}
	}
	if ch.usage {
		events = append(events, stream.Event{Kind: stream.Usage, Raw: c.writeUsage(ch.data), Lane: -1})
	}
	return events, nil
}

func holdsCalls(delta []byte) bool {
	legacy := span.Member(delta, "function_call")
	return !span.IsEmpty(orNull(span.Member(delta, "tool_calls"))) || !span.IsNull(orNull(legacy))
}

func orNull(value []byte) []byte {
	if value == nil {
		return []byte("null")
	}
	return value
}

// writeRest writes what of a choice is neither call nor reason; nil where that is nothing.
func (c *Codec) writeRest(data, choice, delta []byte, l *lane) []byte {
	kept := false
	rest := span.Edit(nil, delta, func(key string, value []byte) []byte {
		switch key {
		case "tool_calls", "function_call":
			return nil
		case "role":
			if span.IsNull(value) {
				return nil
			}
			kept = kept || l.seen == 1
		default:
			kept = kept || !span.IsEmpty(value)
		}
		return value
	})
	logs := span.Member(choice, "logprobs")
	if kept = kept || !span.IsEmpty(orNull(logs)); !kept {
		return nil
	}
	if !l.role {
		l.role = true
		rest = addRole(rest)
	}
	one := span.Edit([]byte("["), choice, func(key string, value []byte) []byte {
		switch key {
		case "delta":
			return rest
		case "finish_reason":
			return []byte("null")
		}
		return value
	})
	out := span.Edit([]byte("data: "), data, func(key string, value []byte) []byte {
		switch key {
		case "choices":
			return append(one, ']')
		case "usage":
			return nil
		}
		return value
	})
	return append(out, "\n\n"...)
}

func addRole(delta []byte) []byte {
	out := append([]byte{}, `{"role":"assistant"`...)
	if len(delta) > 2 {
		out = append(out, ',')
	}
	return append(out, delta[1:]...)
}

func (c *Codec) writeUsage(data []byte) []byte {
	out := span.Edit([]byte("data: "), data, func(key string, value []byte) []byte {
		if key == "choices" {
			return []byte("[]")
		}
		return value
	})
	return append(out, "\n\n"...)
}

// piece is one element of tool_calls, or a function_call.
type piece struct {
	index int
	id    string
	name  string
	args  []byte
	extra []byte // members that aren't known and can't hold a call
	odd   bool
	one   bool // of the older kind
}

func (c *Codec) readCalls(events []stream.Event, lane int, delta []byte) []stream.Event {
	for it := span.Members(delta); it.Next(); {
		switch string(it.Key) {
		case "function_call":
			if !span.IsNull(it.Value) {
				p := piece{index: -1, one: true}
				p.readFunction(it.Value)
				events = c.addPiece(events, lane, p)
			}
		case "tool_calls":
			for el := span.Elements(it.Value); el.Next(); {
				events = c.addPiece(events, lane, readPiece(el.Value))
			}
		}
	}
	return events
}

// readPiece reads an element of tool_calls.
func readPiece(element []byte) piece {
	p := piece{index: -1, odd: element[0] != '{'}
	for it := span.Members(element); it.Next(); {
		text, isText := span.Text(it.Value)
		null := span.IsNull(it.Value)
		switch string(it.Key) {
		case "index":
			n, ok := span.Number(it.Value)
			if p.odd = p.odd || !ok && !null; ok {
				p.index = n
			}
		case "id":
			p.odd = p.odd || !isText && !null
			p.id = string(text)
		case "type":
			p.odd = p.odd || !null && string(text) != "function" && string(text) != ""
		case "function":
			p.readFunction(it.Value)
		default:
			if !isHarmless(it.Key, it.Value, innerNames) || string(it.Key) == "custom" && !null {
				p.odd = true
				continue
			}
			p.extra = append(append(span.AppendQuote(append(p.extra, ','), string(it.Key)), ':'), it.Value...)
		}
	}
	return p
}

func (p *piece) readFunction(value []byte) {
	p.odd = p.odd || value[0] != '{' && !span.IsNull(value)
	for it := span.Members(value); it.Next(); {
		text, isText := span.Text(it.Value)
		switch string(it.Key) {
		case "name":
			p.odd = p.odd || !isText && !span.IsNull(it.Value)
			p.name = string(text)
		case "arguments":
			p.odd = p.odd || !isText && !span.IsNull(it.Value)
			p.args = text
		default:
			p.odd = p.odd || !isHarmless(it.Key, it.Value, innerNames)
		}
	}
}

// findCall returns the call that a piece goes on with; nil where the piece begins one.
func (l *lane) findCall(p piece) *call {
	var last *call
	for _, k := range l.calls {
		if k.legacy != p.one {
			continue
		}
		switch {
		case p.one, p.index >= 0 && k.index == p.index, p.index < 0 && p.id != "" && k.id == p.id, p.index < 0 && p.id == "":
			last = k
		}
	}
	if last == nil {
		return nil
	}
	otherID := p.id != "" && last.id != "" && p.id != last.id
	otherName := p.name != "" && last.name != "" && (p.index < 0 && p.id == "" || p.name != last.name) && last.balance.Whole()
	if !p.one && (otherID || otherName) {
		return nil
	}
	return last
}

// addPiece appends the events of a piece.
func (c *Codec) addPiece(events []stream.Event, n int, p piece) []stream.Event {
	l := c.lanes[n]
	k := l.findCall(p)
	if k == nil {
		events = c.closeCalls(events, l, false)
		k = &call{number: c.calls, index: p.index, id: p.id, name: p.name, legacy: p.one}
		c.calls++
		if len(l.calls) <= maxLanes { // the machine ends the stream long before
			l.calls = append(l.calls, k)
		}
		start := stream.Start{ID: p.id, Name: p.name, Head: p.extra}
		events = append(events, stream.Event{Kind: stream.Begin, Lane: n, Call: k.number, Start: start, Mark: markOf(p.one)})
	}
	switch {
	case p.odd || p.name != "" && k.name != "" && p.name != k.name:
		return append(events, stream.Event{Kind: stream.Spoil, Call: k.number, Code: stream.CodeShape})
	case k.over && isBlank(p.args):
		return events
	}
	named := stream.Start{}
	if k.name == "" {
		k.name, named.Name = p.name, p.name
	}
	if k.id == "" {
		k.id, named.ID = p.id, p.id
	}
	if !k.balance.Add(p.args) {
		return append(events, stream.Event{Kind: stream.Spoil, Call: k.number, Code: stream.CodeArguments})
	}
	if len(p.args) == 0 && named.Name == "" && named.ID == "" {
		return events
	}
	return append(events, stream.Event{Kind: stream.Grow, Call: k.number, Args: p.args, Start: named})
}

func isBlank(args []byte) bool {
	var b stream.Balance
	return b.Add(args) && b.Empty()
}

// legacyMark tells a call of the older kind.
const legacyMark = 1

func markOf(legacy bool) stream.Mark {
	if legacy {
		return stream.Mark{Code: legacyMark}
	}
	return stream.Mark{}
}
