package skills

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// toolDomain is the domain of skills that stand for tools of other programs.
const toolDomain = "tool."

// toolEscapes are the escapes of characters that no skill's name has.
const (
	toolCapital = "-u"  // the letter before is a capital
	toolHyphen  = "-h"  // a hyphen
	toolDot     = "-d"  // a dot
	toolByte    = "-x"  // two hexadecimal digits of any other byte follow
	toolPadding = "n-n" // at the beginning: the name does not start with a letter
)

// NameTool returns the skill that stands for a tool of another program: "tool." and the name, in
// which capitals become b-u, hyphens -h, dots -d and other bytes -xHH. So Bash is tool.b-uash and
// mcp__git__push is tool.mcp__git__push. Two tools never share a skill. It reports false for an
// empty name, and for one whose skill's name would be longer than MaxName.
func NameTool(tool string) (skill string, ok bool) {
	var b strings.Builder
	b.WriteString(toolDomain)
	if tool == "" || !isLetter(tool[0]) {
		b.WriteString(toolPadding)
	}
	for i := range len(tool) {
		writeToolByte(&b, tool[i])
	}
	return b.String(), tool != "" && b.Len() <= MaxName
}

func writeToolByte(b *strings.Builder, c byte) {
	switch {
	case c >= 'A' && c <= 'Z':
		b.WriteByte(c + 'a' - 'A')
		b.WriteString(toolCapital)
	case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_':
		b.WriteByte(c)
	case c == '-':
		b.WriteString(toolHyphen)
	case c == '.':
		b.WriteString(toolDot)
	default:
		_, _ = fmt.Fprintf(b, toolByte+"%02x", c)
	}
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// ToolOf returns the tool that a skill stands for. It reports false for a skill that NameTool never
// returns.
func ToolOf(skill string) (tool string, ok bool) {
	rest, ok := strings.CutPrefix(skill, toolDomain)
	if !ok {
		return "", false
	}
	rest = strings.TrimPrefix(rest, toolPadding)
	var out []byte
	for rest != "" {
		before, escape, found := strings.Cut(rest, "-")
		out = append(out, before...)
		if !found {
			break
		}
		if out, rest, ok = readToolEscape(out, escape); !ok {
			return "", false
		}
	}
	tool = string(out)
	back, ok := NameTool(tool)
	return tool, ok && back == skill // there is one way to write each name
}

// readToolEscape reads what follows a hyphen.
func readToolEscape(out []byte, rest string) ([]byte, string, bool) {
	if rest == "" {
		return nil, "", false
	}
	switch rest[0] {
	case 'u':
		if len(out) == 0 || out[len(out)-1] < 'a' || out[len(out)-1] > 'z' {
			return nil, "", false
		}
		out[len(out)-1] -= 'a' - 'A'
	case 'h':
		out = append(out, '-')
	case 'd':
		out = append(out, '.')
	case 'x':
		if len(rest) < 3 {
			return nil, "", false
		}
		raw, err := hex.DecodeString(rest[1:3])
		if err != nil {
			return nil, "", false
		}
		return append(out, raw...), rest[3:], true
	default:
		return nil, "", false
	}
	return out, rest[1:], true
}
