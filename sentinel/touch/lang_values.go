package touch

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// val is what an expression of a program gives, as far as that is plain.
type val struct {
	s     string // what is known of its text
	shown string // the same with "$" where something isn't
	known bool   // all of it is
	list  []val
	many  bool   // is a list
	each  bool   // stands for every entry of a folder, or every match
	param string // is a parameter of this function
	file  bool   // was read from a file
	fn    string // is a function of this name
	num   bool
}

func textOf(s string) val { return val{s: s, shown: s, known: true} }

func unknownVal() val { return val{shown: "$"} }

func (v val) text() bool { return v.known && !v.many && !v.num }

// blank reports whether nothing is known of v.
func (v val) blank() bool { return !v.known && v.s == "" && !v.many && v.fn == "" }

func (v val) field() field {
	return field{text: v.shown, bare: v.s, unknown: !v.known, blank: v.blank(), tree: v.each, glob: v.each}
}

const maxFold = 8 << 10

func concat(a, b val) val {
	if a.many && b.many {
		return val{list: append(slices.Clip(a.list), b.list...), many: true, known: a.known && b.known}
	}
	if a.num && b.num {
		return unknownVal()
	}
	v := val{known: a.known && b.known && !a.many && !b.many, each: a.each || b.each, file: a.file || b.file}
	if len(a.s)+len(b.s) > maxFold {
		return unknownVal()
	}
	v.s, v.shown = a.s+b.s, a.shown+b.shown
	return v
}

// joinPath is os.path.join and its kin.
func joinPath(list []val, restarts bool) val {
	var out val
	for i, v := range list {
		switch {
		case i == 0:
			out = v
		case restarts && strings.HasPrefix(v.s, "/"):
			out = v
		case out.known && out.s == "":
			out = v
		default:
			if !strings.HasSuffix(out.s, "/") || !out.known {
				out = concat(out, textOf("/"))
			}
			out = concat(out, v)
		}
	}
	out.num = false
	return out
}

func joinList(sep val, list []val) val {
	out := textOf("")
	for i, v := range list {
		if i > 0 {
			out = concat(out, sep)
		}
		out = concat(out, v)
	}
	return out
}

// number is a value that is a character's code, or not.
func (v val) number() (int, bool) {
	t := strings.ReplaceAll(v.s, "_", "")
	n, err := strconv.ParseInt(t, 0, 32)
	return int(n), v.num && err == nil
}

// runes makes text of characters' codes.
func runes(list []val) val {
	b := make([]byte, 0, len(list))
	for _, v := range list {
		n, ok := v.number()
		if !ok || n < 0 || n > 255 {
			return unknownVal()
		}
		b = append(b, byte(n))
	}
	return textOf(string(b))
}

func reverseVal(v val) val {
	if v.many {
		l := slices.Clone(v.list)
		slices.Reverse(l)
		v.list = l
		return v
	}
	if !v.text() {
		return unknownVal()
	}
	r := []rune(v.s)
	slices.Reverse(r)
	return textOf(string(r))
}

func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s)
}

func fromBase64(s string) (string, bool) {
	s = strings.TrimRight(strings.Join(strings.Fields(s), ""), "=")
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if b, err := enc.DecodeString(s); err == nil {
			return string(b), true
		}
	}
	return "", false
}

func inflate(s string) (string, bool) {
	for _, open := range []func() (io.Reader, error){
		func() (io.Reader, error) { return zlib.NewReader(strings.NewReader(s)) },
		func() (io.Reader, error) { return gzip.NewReader(strings.NewReader(s)) },
		func() (io.Reader, error) { return flate.NewReader(strings.NewReader(s)), nil },
	} {
		r, err := open()
		if err != nil {
			continue
		}
		var b bytes.Buffer
		if _, err := io.CopyN(&b, r, maxFold); errors.Is(err, io.EOF) && b.Len() > 0 {
			return b.String(), true
		}
	}
	return "", false
}

// decoded undoes each encoding.
var decoded = map[string]func(string) (string, bool){
	"base64": fromBase64,
	"hex": func(s string) (string, bool) {
		b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
		return string(b), err == nil
	},
	"base32": func(s string) (string, bool) {
		b, err := base32.StdEncoding.DecodeString(s)
		return string(b), err == nil
	},
	"rot13": func(s string) (string, bool) { return rot13(s), true },
	"zlib":  inflate,
	"url": func(s string) (string, bool) {
		t, err := url.PathUnescape(s)
		return t, err == nil
	},
}

// decoding says which functions undo which encoding.
var decoding = map[string]string{
	"b64decode": "base64", "urlsafe_b64decode": "base64", "standard_b64decode": "base64", "decodebytes": "base64", "a2b_base64": "base64", "atob": "base64", "decode_base64": "base64", "base64_decode": "base64",
	"decode64": "base64", "strict_decode64": "base64", "urlsafe_decode64": "base64", "base64decode": "base64", "decode64!": "base64", "mime_decode": "base64", "frombase64string": "base64", "url_decode64!": "base64",
	"unhexlify": "hex", "fromhex": "hex", "hex2bin": "hex", "a2b_hex": "hex", "hextobytes": "hex", "hex2bytes": "hex", "b32decode": "base32",
	"str_rot13": "rot13", "decompress": "zlib", "gzinflate": "zlib", "gzuncompress": "zlib", "gzdecode": "zlib", "inflatesync": "zlib", "inflaterawsync": "zlib", "gunzipsync": "zlib", "unzipsync": "zlib", "inflate": "zlib", "uncompress": "zlib",
	"unquote": "url", "unquote_plus": "url", "urldecode": "url", "rawurldecode": "url", "decodeuricomponent": "url", "decodeuri": "url", "unescape": "url",
}

// encodings are the names of encodings, where one is an argument.
var encodings = map[string]string{
	"base64": "base64", "base64url": "base64", "base-64": "base64", "base64_codec": "base64", "hex": "hex", "hex_codec": "hex", "rot13": "rot13", "rot_13": "rot13", "rot-13": "rot13", "zlib": "zlib", "zip": "zlib",
	"m": "base64", "m0": "base64", "h*": "hex",
}

func undo(how string, v val) val {
	if !v.text() || len(v.s) > maxFold {
		return unknownVal()
	}
	if t, ok := decoded[how](v.s); ok {
		return textOf(t)
	}
	return unknownVal()
}
