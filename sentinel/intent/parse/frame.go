package parse

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"

	jsonv2 "github.com/go-json-experiment/json"
)

// message is what this process and a parser's process write to each other: the setup, a task and answers of a model one
// way; that it is ready, that its model is to be asked, and a draft or a code the other way. Exactly one field is set.
type message struct {
	Setup   *setup          `json:"setup,omitempty"`
	Task    *task           `json:"task,omitempty"`
	Content *string         `json:"content,omitempty"`
	Ready   bool            `json:"ready,omitempty"`
	Ask     bool            `json:"ask,omitempty"`
	Draft   json.RawMessage `json:"draft,omitempty"`
	Code    Code            `json:"code,omitempty"`
}

// maxFrame bounds a message in bytes. A setup has an operator's words, a task a text.
const maxFrame = 4 << 20

var errFrame = errors.New("the parser's process wrote no message")

// writeMessage writes one message: its length as four bytes, and its JSON.
func writeMessage(w io.Writer, m message) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(raw) > maxFrame {
		return errFrame
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(raw)), uint32(len(raw))) //nolint:gosec // it is bounded
	_, err = w.Write(append(b, raw...))
	return err
}

// readMessage reads one message.
func readMessage(r io.Reader) (message, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return message{}, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxFrame {
		return message{}, errFrame
	}
	raw := make([]byte, n)
	if _, err := io.ReadFull(r, raw); err != nil {
		return message{}, err
	}
	var m message
	if jsonv2.Unmarshal(raw, &m, jsonv2.RejectUnknownMembers(true)) != nil {
		return message{}, errFrame
	}
	return m, nil
}
