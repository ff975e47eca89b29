package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

func newJournal(a *app) *cobra.Command {
	return asGroup(&cobra.Command{
		Use:   "journal",
		Short: "Erase what is kept of a user or a conversation",
		Long: `The journal holds values: requests, arguments, results, answers, each sealed under
a key of its own. Erasing destroys the keys. The ledger, which holds no values unless
ledger.values says so, keeps its records and still verifies.`,
		Example: `  vedette journal purge --user ann`,
	}, newJournalPurge(a))
}

func newJournalPurge(a *app) *cobra.Command {
	var file string
	var who history.Who
	var yes, asJSON bool
	cmd := &cobra.Command{
		Use:        "purge",
		SuggestFor: []string{"prune", "erase", "delete", "clear", "remove"},
		Short:      "Erase the values and conversations of a user, or one conversation",
		Long: `Purge erases every value that the journal keeps of a user, or of one conversation,
and forgets the conversations themselves: a request that was under way is not gone
on with. It can't be undone. Backups of the database are not touched.

Nor is the ledger, from which nothing can be taken without breaking its proof: what
ledger.values: full put into it, the arguments of calls, stays readable there (and
with hmac, keyed digests of them). Purge counts those records and says so.

The ledger is told when a purge begins, by whom, and when it has ended, with how many
values there were. A purge that is interrupted keeps its conversations closed; the next
start of the server, or purge, finishes it. Stop the server first: the database has one
writer.`,
		Example: `  vedette journal purge --user ann
  vedette journal purge --conversation c1 --yes --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (who.User == "") == (who.Conversation == "") {
				return usage("name either a user with --user U or a conversation with --conversation C")
			}
			if !yes && !a.prompt {
				return usage("no terminal to ask for confirmation, and purge can't be undone; confirm with --yes")
			}
			return a.purge(cmd.Context(), file, who, yes, asJSON)
		},
	}
	configFlag(cmd, &file)
	cmd.Flags().StringVar(&who.User, "user", "", "erase what is kept of this `USER`")
	cmd.Flags().StringVar(&who.Conversation, "conversation", "", "erase what is kept of this `CONVERSATION`")
	cmd.Flags().BoolVar(&yes, "yes", false, "don't ask")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) purge(ctx context.Context, file string, who history.Who, yes, asJSON bool) (err error) {
	cfg, err := a.load(file)
	if err != nil {
		return err
	}
	p := &places{db: cfg.Ledger.Path, keys: cfg.Keys.Dir}
	if _, err := os.Stat(p.db); err != nil {
		return p.explain(store.ErrNoFile)
	}
	if !yes && !a.agreed(who) {
		return &failure{exitFailed, errors.New("nothing was erased"), "answer yes to erase"}
	}
	st, err := store.Open(ctx, store.Options{Path: p.db, Driver: cfg.Ledger.Driver})
	if errors.Is(err, store.ErrLocked) {
		return &failure{
			exitFailed, fmt.Errorf("%s is in use: another process writes to it", p.db),
			"stop the server that uses it, and purge again",
		}
	}
	if err != nil {
		return p.explain(err)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	n, err := eraseAndRecord(ctx, st, cfg.Keys.Dir, who)
	if n.InLedger > 0 {
		a.note("warning: %d records of the ledger hold arguments, since ledger.values was full when they were made; they stay readable",
			n.InLedger)
	}
	if errors.Is(err, journal.ErrPending) {
		return &failure{
			exitFailed, fmt.Errorf("%d values were erased, but old pages of the file still hold them: %w", n.Values, err),
			"stop the programs that read the database, and purge again",
		}
	}
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(a.out, n, false)
	}
	_, err = fmt.Fprintf(a.out, "%d values erased, %d conversations forgotten\n", n.Values, n.Conversations)
	return err
}

// purged is what a purge did and what it could not do.
type purged struct {
	history.Purged
	// InLedger is how many records hold arguments themselves.
	InLedger int `json:"records_with_arguments"`
}

// eraseAndRecord erases. The ledger gets a record of the begin and one of the end
// with how much it was, also where old pages remain.
func eraseAndRecord(ctx context.Context, st *store.Store, dir string, who history.Who) (n purged, err error) {
	k, err := keys.LoadOrCreate(dir)
	if err != nil {
		return n, err
	}
	signer, err := ledger.NewSigner(k.Ledger())
	if err != nil {
		return n, err
	}
	l, err := ledger.Open(ctx, st, signer, ledger.Options{})
	if err != nil {
		return n, err
	}
	jr, err := journal.Open(ctx, st, journal.SingleKey(k.Journal()), journal.Options{})
	if err != nil {
		return n, err
	}
	h, err := history.Open(ctx, st, jr, history.Options{Ledger: l})
	if err != nil {
		return n, err
	}
	n.Purged, err = h.Purge(ctx, who, operator())
	if err != nil && !errors.Is(err, journal.ErrPending) {
		return n, err
	}
	var cerr error
	n.InLedger, cerr = withArguments(ctx, l, who)
	return n, errors.Join(err, cerr)
}

// operator is who runs this command, as the system knows it.
func operator() string {
	u, err := user.Current()
	if err != nil {
		return fmt.Sprint("uid ", os.Getuid())
	}
	return u.Username
}

// withArguments counts the records of a user or conversation that hold
// arguments.
func withArguments(ctx context.Context, l *ledger.Ledger, who history.Who) (n int, err error) {
	const page = 1000
	q := ledger.Query{User: who.User, Conversation: who.Conversation, Limit: page}
	for {
		list, err := l.List(ctx, q)
		if err != nil {
			return n, err
		}
		for _, r := range list {
			var b struct {
				Args json.RawMessage `json:"args"`
			}
			if json.Unmarshal(r.Body, &b) == nil && len(b.Args) > 0 {
				n++
			}
		}
		if len(list) < page {
			return n, nil
		}
		q.AfterIndex = &list[len(list)-1].Index
	}
}

// agreed asks the person at the terminal.
func (a *app) agreed(who history.Who) bool {
	what := "user " + who.User
	if who.User == "" {
		what = "conversation " + who.Conversation
	}
	_, _ = fmt.Fprintf(a.err, "Erase everything that is kept of %s? It can't be undone. [yes/no] ", clean(what))
	line, _ := bufio.NewReader(a.in).ReadString('\n')
	return strings.TrimSpace(line) == "yes"
}
