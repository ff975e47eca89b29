package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/history"
)

// MessageQuery says which messages are read.
type MessageQuery struct {
	// Cursor is the Older of the page before; empty begins with the newest.
	Cursor string
	// Limit is how many requests at most, with their answers: 50 where it is 0, and no more
	// than 200. A page whose texts come to more than a megabyte ends earlier.
	Limit int
}

// MessagePage is some messages of a conversation, the oldest first.
type MessagePage struct {
	Messages []Message `json:"messages"`
	// Older is the cursor of the page before this one in time; empty where there is none.
	Older string `json:"older,omitempty"`
}

// The roles of a Message.
const (
	MessageOfUser      = "user"
	MessageOfAssistant = "assistant"
)

// Message is a request or its answer.
type Message struct {
	Role string    `json:"role"` // user or assistant
	Text string    `json:"text"`
	At   time.Time `json:"at"`
	// Request is the id that the request was sent under.
	Request string `json:"request,omitempty"`
	Turn    string `json:"turn"`
	// Reply is the answer with what led to it, as Send returned it but for its Steps. It is
	// set in a message of the assistant that is an answer.
	Reply *Reply `json:"reply,omitempty"`
	// Error is set in a message of the assistant that is none: the request failed.
	Error *EventError `json:"error,omitempty"`
}

// Messages returns what was said in the conversation, as far as it is kept. A request that is
// being worked on has no answer yet. It fails with ErrUnknownConversation, ErrOtherUser,
// ErrCursor, or an error of the database.
func (c *Conversation) Messages(ctx context.Context, q MessageQuery) (MessagePage, error) {
	before := int64(0)
	if q.Cursor != "" {
		n, id, ok := readCursor(q.Cursor)
		if !ok || id != "m" {
			return MessagePage{}, ErrCursor
		}
		before = n
	}
	if _, err := c.needs.journal.findConversation(ctx, c.co.User, c.co.ID); err != nil {
		return MessagePage{}, err
	}
	return c.needs.journal.readMessages(ctx, history.Turn{Conversation: c.co.ID, User: c.co.User}, before, pageSize(q.Limit))
}

// Cancel stops a request for all who wait for it: they get ErrCancelled. A request that
// has ended stays as it is. It fails with ErrUnknownRequest, ErrOtherUser, or ErrClosed.
func (c *Conversation) Cancel(ctx context.Context, requestID string) error {
	if !idForm.MatchString(requestID) {
		return ErrBadID
	}
	ctx, cancel := withDeadline(ctx, time.Minute)
	defer cancel()
	err := ErrInterrupted
	for i := 0; i < reattach && errors.Is(err, ErrInterrupted); i++ {
		_, err = c.callProcess(ctx, cancelRequest{requestID, c.co.User})
	}
	if !errors.Is(err, errNotHere) {
		return err
	}
	end, err := c.needs.journal.readEnd(ctx, history.Turn{Conversation: c.co.ID, User: c.co.User, Turn: deriveTurnID(c.co.ID, requestID)}, "")
	if err == nil && end == nil {
		err = ErrUnknownRequest
	}
	return err
}

// findConversation returns a user's conversation; an empty user is any.
func (j *turnJournal) findConversation(ctx context.Context, user, id string) (history.Conversation, error) {
	c, known, err := j.Get(ctx, id)
	switch {
	case err != nil:
		return history.Conversation{}, err
	case !known:
		return history.Conversation{}, ErrUnknownConversation
	case user != "" && c.User != user:
		return history.Conversation{}, ErrOtherUser
	}
	return c, nil
}

// readMessages reads one page of messages.
func (j *turnJournal) readMessages(ctx context.Context, about history.Turn, before int64, limit int) (MessagePage, error) {
	list, err := j.Page(ctx, about, keptRequest, before, limit+1)
	if err != nil {
		return MessagePage{}, err
	}
	page := MessagePage{Messages: []Message{}}
	if len(list) > limit {
		list = list[:limit]
		page.Older = writeCursor(list[limit-1].Number, "m")
	}
	seen := map[string]bool{} // a request may have been begun twice
	room := maxPageBytes
	for i, asked := range list {
		if seen[asked.Turn] {
			continue
		}
		seen[asked.Turn] = true
		said, err := j.readTurnMessages(ctx, about, asked)
		if err != nil {
			return MessagePage{}, err
		}
		for i := range said {
			room -= said[i].countBytes()
		}
		if room < 0 && len(page.Messages) > 0 {
			page.Older = writeCursor(list[i-1].Number, "m")
			break
		}
		page.Messages = append(page.Messages, said...)
	}
	slices.Reverse(page.Messages)
	return page, nil
}

// maxPageBytes bounds the texts of a page of messages. One request with its answer may be longer.
const maxPageBytes = 1 << 20

// countBytes is how long the texts of a message are.
func (m *Message) countBytes() int {
	n := len(m.Text)
	if m.Reply != nil {
		n += len(m.Reply.Text)
		for i := range m.Reply.Agents {
			n += len(m.Reply.Agents[i].Answer) + len(m.Reply.Agents[i].Reason)
		}
	}
	return n
}

// readTurnMessages are the messages of one turn, the answer first.
func (j *turnJournal) readTurnMessages(ctx context.Context, about history.Turn, asked history.Kept) (out []Message, err error) {
	about.Turn = asked.Turn
	m := Message{Role: MessageOfUser, Text: string(asked.Data), At: asked.At, Turn: asked.Turn}
	opens, err := j.Page(ctx, about, recordOpen, 0, 1)
	if err != nil {
		return nil, err
	}
	var open openRecord
	if len(opens) > 0 && json.Unmarshal(opens[0].Data, &open) == nil {
		m.Request = open.Request
	}
	ends, err := j.Page(ctx, about, recordEnd, 0, 1)
	if err != nil {
		return nil, err
	}
	var end endRecord
	if len(ends) > 0 && json.Unmarshal(ends[0].Data, &end) == nil {
		a := Message{Role: MessageOfAssistant, At: ends[0].At, Request: m.Request, Turn: m.Turn}
		if a.Error = DescribeError(failureFromCode(end.Failure)); a.Error == nil {
			a.Text, a.Reply = end.Reply.Text, &end.Reply
		}
		out = append(out, a)
	}
	return append(out, m), nil
}
