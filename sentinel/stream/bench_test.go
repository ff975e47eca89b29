package stream_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/vedette-dev/vedette/sentinel/stream"
)

var textFrame = map[string]string{
	"chat":     chatLine(`{"content":" some words"}`),
	"messages": sent("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":" some words"}`),
	"responses": sent("response.output_text.delta",
		`,"sequence_number":4,"item_id":"msg_0","output_index":0,"content_index":0,"delta":" some words"`),
}

var textBegin = map[string]string{
	"chat":     chatRole,
	"messages": sent("message_start", messageStart) + sent("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`),
	"responses": sent("response.created", `,"sequence_number":0,"response":{"id":"r","output":[]}`) +
		sent("response.output_item.added", `,"sequence_number":1,"output_index":0,"item":{"id":"msg_0","type":"message","content":[]}`),
}

// BenchmarkText is one chunk of text, from the upstream's bytes to the client's.
func BenchmarkText(b *testing.B) {
	for _, format := range formats {
		b.Run(format, func(b *testing.B) {
			relay := stream.NewRelay(codecs[format](), options(b, stream.Terminate))
			relay.Write([]byte(textBegin[format]))
			frame := []byte(textFrame[format])
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				if p := relay.Write(frame); len(p.Bytes) == 0 {
					b.Fatal("no bytes")
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
		})
	}
}

// BenchmarkCall is an answer with a text and a call of 4 KB in 400 pieces.
func BenchmarkCall(b *testing.B) {
	for _, format := range formats {
		b.Run(format, func(b *testing.B) {
			in := []byte(upstream(format, txt("hello"), call("1", "ok_a", `{"q":"`+strings.Repeat("abcdefghij", 400)+`"}`)))
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				relay := stream.NewRelay(codecs[format](), options(b, stream.Terminate))
				p := relay.Write(in)
				for _, c := range append([]stream.Call(nil), p.Judge...) {
					if _, err := relay.Decide(c.Number, stream.Decision{Allow: true}); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkMemory is what a stream holds while text flows, and while a call of 100 KB waits.
func BenchmarkMemory(b *testing.B) {
	for _, format := range formats {
		for name, parts := range map[string][]part{
			"text": {txt(strings.Repeat("words ", 200))},
			"held": {txt("hello"), call("1", "ok_a", `{"q":"`+strings.Repeat("abcdefghij", 10_000)+`"}`)},
		} {
			b.Run(format+"/"+name, func(b *testing.B) {
				in := []byte(upstream(format, parts...))
				in = in[:len(in)-40] // the answer isn't over
				const streams = 20
				var before, after runtime.MemStats
				for b.Loop() {
					runtime.GC()
					runtime.ReadMemStats(&before)
					relays := make([]*stream.Relay, streams)
					for i := range relays {
						relays[i] = stream.NewRelay(codecs[format](), options(b, stream.Terminate))
						for rest := in; len(rest) > 0; rest = rest[min(len(rest), 4096):] {
							relays[i].Write(rest[:min(len(rest), 4096)])
						}
					}
					runtime.GC()
					runtime.ReadMemStats(&after)
					b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/streams, "B/stream")
					runtime.KeepAlive(relays)
				}
			})
		}
	}
}
