package sentinel

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The limits of a call's arguments.
const (
	MaxArgs  = 1 << 20 // bytes
	MaxDepth = 64      // levels of nesting
	MaxKeys  = 10_000  // object members in all
)

// CallError says why a proposal is no call. Reason holds no value and no key.
type CallError struct {
	Code   string
	Reason string
}

// The codes of a CallError.
const (
	CodeNoSkill   = "parse.no_skill"
	CodeSkillName = "parse.skill_name"
	CodeTooLarge  = "parse.too_large"
	CodeTooDeep   = "parse.too_deep"
	CodeTooMany   = "parse.too_many_keys"
	CodeSyntax    = "parse.syntax"
	CodeUTF8      = "parse.utf8"
	CodeDuplicate = "parse.duplicate_key"
	CodeFolded    = "parse.folded_key"
	CodeNumber    = "parse.number"
	CodeNotObject = "parse.not_object"
)

// Error returns the reason.
func (e *CallError) Error() string { return e.Reason }

// CheckArguments returns the *CallError with which NewCall would refuse these arguments, nil
// where it takes them. It is for what must know before there is a proposal.
func CheckArguments(raw []byte) error {
	_, _, err := canonicalize(raw)
	return err
}

// canonicalize returns the RFC 8785 form of raw and its Go values. It refuses
// whatever two parsers might read differently.
func canonicalize(raw []byte) (string, map[string]any, error) {
	if len(raw) == 0 {
		return "{}", map[string]any{}, nil
	}
	if len(raw) > MaxArgs {
		return "", nil, &CallError{CodeTooLarge, fmt.Sprintf("the arguments are %d bytes; at most %d are allowed", len(raw), MaxArgs)}
	}
	if !utf8.Valid(raw) {
		return "", nil, &CallError{CodeUTF8, "the arguments are not valid UTF-8"}
	}
	text, plain := plainForm(raw)
	if !plain {
		var err error
		if text, err = formOfAny(raw); err != nil {
			return "", nil, err
		}
	}
	r := canonicalReader{s: text}
	m, err := r.readAll()
	if err != nil {
		return "", nil, &CallError{CodeSyntax, "the arguments are not valid JSON"}
	}
	if r.foldable || r.keys > MaxKeys {
		if err := checkKeys(m, new(int)); err != nil {
			return "", nil, err
		}
	}
	return text, m, nil
}

// formOfAny returns the RFC 8785 form of any object, by the library.
func formOfAny(raw []byte) (string, error) {
	if err := scanTokens(raw); err != nil {
		return "", err
	}
	v := jsontext.Value(bytes.Clone(raw))
	if err := v.Canonicalize(); err != nil {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return "", &CallError{CodeDuplicate, "an object in the arguments has the same key twice"}
		}
		return "", &CallError{CodeSyntax, "the arguments are not valid JSON"}
	}
	if v.Kind() != '{' {
		return "", &CallError{CodeNotObject, "the arguments are not a JSON object"}
	}
	return string(v), nil
}

// scanTokens walks the raw tokens: nesting before a parser recurses on it, and
// numbers before a float rounds them. It assumes nothing about validity.
func scanTokens(raw []byte) error {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			i = skipString(raw, i)
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return &CallError{CodeTooDeep, fmt.Sprintf("the arguments are nested more than %d levels deep", MaxDepth)}
			}
		case c == '}' || c == ']':
			depth--
		case c == '-' || c >= '0' && c <= '9':
			j := i
			for j < len(raw) && strings.IndexByte("+-.eE0123456789", raw[j]) >= 0 {
				j++
			}
			if !isExactNumber(string(raw[i:j])) {
				return &CallError{CodeNumber, "a number in the arguments is beyond 2^53 and would be rounded; send it as a string"}
			}
			i = j - 1
		}
	}
	return nil
}

func skipString(raw []byte, i int) int {
	if end := bytes.IndexByte(raw[i+1:], '"'); end >= 0 && bytes.IndexByte(raw[i+1:i+1+end], '\\') < 0 {
		return i + 1 + end // most have no escape
	}
	for i++; i < len(raw) && raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i
}

// isExactNumber reports whether every reader gets the same number from the token: it
// is finite and, where its magnitude is 2^53 or more, exactly 2^53.
func isExactNumber(tok string) bool {
	f, err := strconv.ParseFloat(tok, 64)
	if err != nil {
		return !errors.Is(err, strconv.ErrRange) // a syntax error is the parser's to report
	}
	if math.Abs(f) < 1<<53 {
		return true
	}
	if math.Abs(f) > 1<<53 || len(tok) > 400 {
		return false
	}
	r, ok := new(big.Rat).SetString(tok)
	return ok && r.IsInt() && r.Num().CmpAbs(big.NewInt(1<<53)) == 0
}

// checkKeys refuses keys that differ in letter case alone: a receiver that
// folds case would read the other one.
func checkKeys(v any, count *int) error {
	switch v := v.(type) {
	case map[string]any:
		if *count += len(v); *count > MaxKeys {
			return &CallError{CodeTooMany, fmt.Sprintf("the arguments have more than %d keys", MaxKeys)}
		}
		var folded map[string]bool
		if !lowerKeys(v) {
			folded = make(map[string]bool, len(v))
		}
		for k, e := range v {
			if err := checkKeys(e, count); err != nil {
				return err
			}
			if folded == nil {
				continue
			}
			f := strings.ToLower(strings.ToUpper(k))
			if folded[f] {
				return &CallError{CodeFolded, "an object in the arguments has two keys that differ in letter case alone"}
			}
			folded[f] = true
		}
	case []any:
		for _, e := range v {
			if err := checkKeys(e, count); err != nil {
				return err
			}
		}
	}
	return nil
}

// lowerKeys reports whether all keys are of lower case ASCII: then no two of
// them can be one key in another case.
func lowerKeys(m map[string]any) bool {
	for k := range m {
		if !isLowerKey(k) {
			return false
		}
	}
	return true
}

func isLowerKey(k string) bool {
	for i := range len(k) {
		if c := k[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
			return false
		}
	}
	return true
}
