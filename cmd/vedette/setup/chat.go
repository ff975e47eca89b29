package setup

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

	"github.com/vedette-dev/vedette/cmd/vedette/chat"
	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

type (
	// ChatOptions shape a chat at a terminal.
	ChatOptions = chat.Options
	// ChatPeer is the conversation of a chat.
	ChatPeer = chat.Peer
	// ChatHere says what a conversation in this process is made of.
	ChatHere = chat.HereOptions
	// ChatServer says where a conversation on a server is.
	ChatServer = chat.ServerOptions
)

// The ends of a chat that a command tells apart.
var (
	ErrChatInterrupted = chat.ErrInterrupted
	ErrChatUnanswered  = chat.ErrUnanswered
)

// RunChat talks until the person leaves.
func RunChat(ctx context.Context, o ChatOptions) error { return chat.Run(ctx, o) }

// DialChat reaches a conversation on a server.
func DialChat(ctx context.Context, o ChatServer) (ChatPeer, error) { return chat.Dial(ctx, o) }

// OpenChat runs an orchestrator in this process for a conversation. The person at the terminal is
// the system's user, and the conversation theirs where no other user is named. file is the
// configuration's name.
func OpenChat(ctx context.Context, o ChatHere, file string) (ChatPeer, error) {
	o.By = control.NameLocal(os.Getuid())
	o.User = cmp.Or(o.User, strings.TrimPrefix(o.By, approval.LocalPrefix))
	o.Conversation = cmp.Or(o.Conversation, chat.NewID())
	o.Resume = "vedette chat --config " + file + " --user " + o.User + " --conversation " + o.Conversation
	o.Approvals = "vedette approvals --config " + file
	p, err := chat.Here(ctx, o)
	if errors.Is(err, records.ErrInUse) {
		return nil, &advice.Error{Err: err, Todo: "a process runs on this database: talk to it with vedette chat --server URL, or stop it"}
	}
	return p, err
}
