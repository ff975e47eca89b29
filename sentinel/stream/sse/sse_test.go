package sse_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/stream/sse"
)

type frame struct{ name, data, raw string }

// readAll feeds pieces and returns the frames. DataAt must lead to the data in Raw.
func readAll(t *testing.T, r *sse.Reader, pieces ...string) []frame {
	t.Helper()
	var out []frame
	take := func() {
		for {
			f, ok, err := r.Next()
			require.NoError(t, err)
			if !ok {
				return
			}
			if f.Data != nil {
				in := string(f.Raw[f.DataAt : f.DataAt+len(f.Data)])
				require.Equal(t, strings.ReplaceAll(string(f.Data), "\n", " "), in)
			}
			out = append(out, frame{string(f.Name), string(f.Data), string(f.Raw)})
		}
	}
	for _, p := range pieces {
		r.Feed([]byte(p))
		take()
	}
	r.Close()
	take()
	return out
}

func TestFrames(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []frame
	}{
		"ordinary":                  {"event: a\ndata: x\n\n", []frame{{"a", "x", "event: a\ndata: x\n\n"}}},
		"CRLF":                      {"event: a\r\ndata: x\r\n\r\n", []frame{{"a", "x", "event: a\r\ndata: x\r\n\r\n"}}},
		"no blank behind the colon": {"data:x\n\n", []frame{{"", "x", "data:x\n\n"}}},
		"several data lines":        {"data: x\ndata: y\n\n", []frame{{"", "x\ny", "data: x y\n\n"}}},
		"comment":                   {": hi\n\ndata: x\n\n", []frame{{"", "", ": hi\n"}, {"", "", "\n"}, {"", "x", "data: x\n\n"}}},
		"comment within":            {"data: x\n: hi\n\n", []frame{{"", "x", "data: x\n\n"}}},
		"odd comment":               {": h\u2028i\n", nil},
		"id and retry":              {"id: 1\nretry: 3\ndata: x\n\n", []frame{{"", "x", "data: x\n\n"}}},
		"only id":                   {"id: 1\n\n", nil},
		"empty data":                {"data:\n\ndata: \n\n", nil},
		"lone CR":                   {"data: x\r\rdata: y\n\n", []frame{{"", "x", "data: x\n\n"}, {"", "y", "data: y\n\n"}}},
		"byte order mark":           {"\xef\xbb\xbfdata: x\n\n", []frame{{"", "x", "data: x\n\n"}}},
		"no end":                    {"data: x", []frame{{"", "x", "data: x\n\n"}}},
		"no end behind CR":          {"data: x\r\n\r", []frame{{"", "x", "data: x\n\n"}, {"", "", "\n"}}},
		"two names":                 {"event: a\nevent: b\ndata: x\n\n", []frame{{"b", "x", "event: b\ndata: x\n\n"}}},
		"odd name":                  {"event: a\u2028\ndata: x\n\n", []frame{{"", "x", "data: x\n\n"}}},
		"field without colon":       {"data\ndata: x\n\n", []frame{{"", "\nx", "data:  x\n\n"}}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, readAll(t, &sse.Reader{}, c.in))
			require.Equal(t, c.want, readAll(t, &sse.Reader{}, strings.Split(c.in, "")...), "one byte at a time")
		})
	}
}

// A frame beyond the bound is an error, also one that never ends.
func TestTooLarge(t *testing.T) {
	long := "data: " + strings.Repeat("x", 100)
	for _, in := range []string{long, long + "\n\n", strings.Repeat("data: x\n", 20)} {
		r := sse.Reader{Max: 64}
		r.Feed([]byte(in))
		_, _, err := r.Next()
		require.ErrorIs(t, err, sse.ErrTooLarge)
	}
}
