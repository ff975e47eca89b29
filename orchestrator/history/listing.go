package history

import (
	"context"
	"time"

	"github.com/vedette-dev/vedette/sentinel/journal"
)

const sqlList = sqlGet + ` WHERE (? = '' OR user = ?) AND (updated < ? OR updated = ? AND id < ?)
AND NOT EXISTS (SELECT 1 FROM history_purges p WHERE p.conversation = history_conversations.id OR p.user = history_conversations.user)
ORDER BY updated DESC, id DESC LIMIT ?`

// ListQuery says which conversations List returns.
type ListQuery struct {
	// User is whose; empty lists those of all users.
	User string
	// Updated and ID are those of the last conversation of the page before. A zero Updated
	// begins with the newest.
	Updated time.Time
	ID      string
	Limit   int
}

// List returns conversations, the one that was written last first. Those whose purge has
// not ended are left out.
func (h *History) List(ctx context.Context, q ListQuery) ([]Conversation, error) {
	before := int64(1)<<62 - 1
	if !q.Updated.IsZero() {
		before = q.Updated.UnixMilli()
	}
	return h.listConversations(ctx, sqlList, q.User, q.User, before, before, q.ID, q.Limit)
}

// Kept is an Item with its place and time.
type Kept struct {
	Item
	// Number grows with time; the Before of Page takes it.
	Number int64
	Turn   string
	At     time.Time
}

// Page returns what is kept of one kind in a user's conversation, newest first: of the turn
// alone where t names one. before, if not zero, leaves out items from that number on.
func (h *History) Page(ctx context.Context, t Turn, kind string, before int64, limit int) ([]Kept, error) {
	if t.User == "" || t.Conversation == "" {
		return nil, ErrWho // an empty name would match those of all users
	}
	values, err := h.jr.Find(ctx, journal.Query{
		User: t.User, Conversation: t.Conversation, Call: t.Turn, Kind: kind, Newest: true, Before: before, Limit: limit,
	})
	if err != nil {
		return nil, err
	}
	out := make([]Kept, len(values))
	for i, v := range values {
		out[i] = Kept{Item{v.Kind, v.Data}, v.ID, v.Call, v.Created}
	}
	return out, nil
}
