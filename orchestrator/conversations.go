package orchestrator

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/admission"
	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// The bounds of a page.
const (
	defaultPage = 50
	maxPage     = 200
)

// ConversationQuery says which conversations are listed.
type ConversationQuery struct {
	// User is whose conversations; empty lists those of all users.
	User string
	// Cursor is the Next of the page before; empty begins with the newest.
	Cursor string
	// Limit is how many at most, 50 where it is 0, and no more than 200.
	Limit int
}

// ConversationPage is some conversations, the one that was written last first.
type ConversationPage struct {
	Conversations []ConversationInfo `json:"conversations"`
	// Next is the cursor of the next page; empty where this is the last.
	Next string `json:"next,omitempty"`
}

// ConversationInfo is what is known of a conversation. It holds nothing that was said.
type ConversationInfo struct {
	ID   string `json:"id"`
	User string `json:"user"`
	// Tainted is set for good once text of others has been read.
	Tainted bool      `json:"tainted"`
	Updated time.Time `json:"updated"`
	// Turn is the request that is being worked on, empty if none is.
	Turn string `json:"turn,omitempty"`
}

// Conversations lists the conversations in which something was sent. It fails with ErrBadID,
// ErrCursor, or an error of the database.
func (o *Orchestrator) Conversations(ctx context.Context, q ConversationQuery) (ConversationPage, error) {
	if q.User != "" && !idForm.MatchString(q.User) {
		return ConversationPage{}, ErrBadID
	}
	lq := history.ListQuery{User: q.User, Limit: pageSize(q.Limit) + 1}
	if q.Cursor != "" {
		at, id, ok := readCursor(q.Cursor)
		if !ok {
			return ConversationPage{}, ErrCursor
		}
		lq.Updated, lq.ID = time.UnixMilli(at), id
	}
	list, err := o.journal.List(ctx, lq)
	if err != nil {
		return ConversationPage{}, err
	}
	page := ConversationPage{Conversations: []ConversationInfo{}}
	for i, c := range list {
		if i == lq.Limit-1 {
			page.Next = writeCursor(list[i-1].Updated.UnixMilli(), list[i-1].ID)
			break
		}
		page.Conversations = append(page.Conversations, describeConversation(c))
	}
	return page, nil
}

// Conversation returns what is known of a user's conversation. It fails with
// ErrUnknownConversation, ErrOtherUser, or an error of the database.
func (o *Orchestrator) Conversation(ctx context.Context, user, id string) (ConversationInfo, error) {
	c, err := o.journal.findConversation(ctx, user, id)
	return describeConversation(c), err
}

// describeConversation is what programs are told of a conversation.
func describeConversation(c history.Conversation) ConversationInfo {
	return ConversationInfo{ID: c.ID, User: c.User, Tainted: c.Tainted, Updated: c.Updated, Turn: c.Turn}
}

// pageSize is how many a page holds.
func pageSize(asked int) int {
	if asked <= 0 {
		return defaultPage
	}
	return min(asked, maxPage)
}

// writeCursor makes a cursor of a number and an id.
func writeCursor(n int64, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(n, 10) + " " + id))
}

// readCursor reads what writeCursor wrote.
func readCursor(s string) (n int64, id string, ok bool) {
	if len(s) > 512 {
		return 0, "", false
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	number, id, found := strings.Cut(string(b), " ")
	n, nerr := strconv.ParseInt(number, 10, 64)
	return n, id, err == nil && nerr == nil && found && n > 0
}

// PurgeTarget says what Purge erases.
type PurgeTarget struct {
	// User alone names all conversations of a user. With Conversation it is that one, if it
	// is the user's. Conversation alone is that one, of any user.
	User, Conversation string
	// By is who asked for it, in one line. It stands in the ledger.
	By string
}

// Purged is how much a purge erased.
type Purged = history.Purged

// ErrPurgePending says that everything is gone, and that old pages of the database remain
// until its readers have ended. Purge again then.
var ErrPurgePending = history.ErrPending

// Purge erases what is kept of a user or of a conversation for good: requests, answers,
// arguments, results, open approvals. Requests under way end with ErrCancelled first. The
// ledger keeps its records, which hold no values, and gets one of the purge.
//
// It fails with ErrBadID, ErrUnknownConversation or ErrOtherUser, having done nothing; with
// ErrPurgePending; or with an error of the database: then the purge is finished by the
// next start or the next Purge, and the conversations are refused until then.
func (o *Orchestrator) Purge(ctx context.Context, who PurgeTarget) (Purged, error) {
	if who.User == "" && who.Conversation == "" || strings.ContainsAny(who.By, "\r\n") ||
		who.User != "" && !idForm.MatchString(who.User) || who.Conversation != "" && !idForm.MatchString(who.Conversation) {
		return Purged{}, ErrBadID
	}
	w := history.Who{User: who.User}
	if who.Conversation != "" {
		if _, err := o.journal.findConversation(ctx, who.User, who.Conversation); err != nil && !errors.Is(err, history.ErrPurging) {
			return Purged{}, err
		}
		w = history.Who{Conversation: who.Conversation}
	}
	if err := o.endConversations(ctx, who); err != nil {
		return Purged{}, err
	}
	n, err := o.journal.Purge(ctx, w, who.By)
	// One that was opened meanwhile has read what is gone.
	if o.parts.Handover != nil {
		o.parts.Handover.Forget(w.User, w.Conversation)
	}
	return n, errors.Join(err, o.endConversations(context.WithoutCancel(ctx), who))
}

// endConversations ends the processes of what is purged, with their requests.
func (o *Orchestrator) endConversations(ctx context.Context, who PurgeTarget) error {
	ctx, cancel := withDeadline(ctx, defaultClose)
	defer cancel()
	for _, l := range o.statuses.listStatuses(o.sys) {
		if who.Conversation != "" && l.conversation != who.Conversation {
			continue
		}
		pid, ok := o.sys.Whereis(serverName(l.conversation))
		if !ok {
			continue
		}
		sup, watched := o.sys.Whereis(supervisorName(l.conversation))
		v, err := otp.Call(ctx, pid, forgetAll{who.User})
		if err != nil && !errors.Is(err, otp.ErrNoProcess) {
			return fmt.Errorf("the conversation can't be ended: %w", o.ending.translateError(ctx, err))
		}
		if ended, _ := v.(bool); ended && watched {
			if _, err := otp.Wait(ctx, sup); err != nil {
				return fmt.Errorf("the conversation can't be ended: %w", err)
			}
		}
	}
	return nil
}

// isName reports whether a grant can have the text as the name of who acts.
func isName(text string) bool {
	return len(text) <= sentinel.MaxID && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// Open returns the conversation, starting it where it is not running. A
// conversation belongs to the user who sent its first request, for good; to
// everybody else it is ErrRequest. ErrOverloaded: too many are open already.
func (o *Orchestrator) Open(ctx context.Context, co ConversationOptions) (*Conversation, error) {
	if !idForm.MatchString(co.ID) || !idForm.MatchString(co.User) || !isName(co.By) || !isName(co.Principal) {
		return nil, ErrBadID
	}
	if err := co.checkSaid(); err != nil {
		return nil, err
	}
	if err := co.Assistant.checkAssistant(&o.models); err != nil {
		return nil, err
	}
	if co.Scope.Empty() {
		all, err := skills.NewScope(o.userSkills()...)
		if err != nil {
			return nil, err
		}
		co.Scope = o.parts.LeaveOutWithdrawn(all)
	}
	if err := o.ending.refuseIfEnding(); err != nil {
		return nil, err
	}
	credit, err := o.pools.requests.Try(admission.Ask{User: co.User})
	if err != nil {
		return nil, err
	}
	defer credit.Release()
	ctx, cancel := withDeadline(ctx, time.Minute)
	defer cancel()
	c := &Conversation{&o.conversationNeeds, co}
	err = ErrInterrupted
	for i := 0; i < reattach && errors.Is(err, ErrInterrupted); i++ {
		_, err = c.callProcess(ctx, claim{co.User})
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}
