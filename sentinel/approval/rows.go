package approval

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// schema holds questions and answers. What of them holds a value is in the journal, sealed:
// sheet and sealed are its numbers.
var schema = []string{`CREATE TABLE approvals (
	id           TEXT PRIMARY KEY NOT NULL,
	call         TEXT NOT NULL,
	conversation TEXT NOT NULL,
	turn         TEXT NOT NULL,
	agent        TEXT NOT NULL,
	user         TEXT NOT NULL,
	skill        TEXT NOT NULL,
	effect       TEXT NOT NULL,
	outward      INTEGER NOT NULL,
	tainted      INTEGER NOT NULL,
	digest       TEXT NOT NULL,
	asked        INTEGER NOT NULL,
	expires      INTEGER NOT NULL,
	state        TEXT NOT NULL,
	code         TEXT NOT NULL,
	needed       INTEGER NOT NULL,
	yes          INTEGER NOT NULL,
	decided_by   TEXT NOT NULL,
	decided_via  TEXT NOT NULL,
	decided_at   INTEGER NOT NULL,
	ended        INTEGER NOT NULL,
	sheet        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX approvals_pending ON approvals (asked, id) WHERE state = 'pending';
CREATE INDEX approvals_conversation ON approvals (conversation);
CREATE INDEX approvals_user ON approvals (user);
CREATE INDEX approvals_ended ON approvals (ended) WHERE ended > 0;
CREATE TABLE approval_answers (
	approval TEXT NOT NULL,
	number   INTEGER NOT NULL,
	word     TEXT NOT NULL,
	by       TEXT NOT NULL,
	via      TEXT NOT NULL,
	at       INTEGER NOT NULL,
	void     INTEGER NOT NULL,
	sealed   INTEGER NOT NULL,
	PRIMARY KEY (approval, number)
) STRICT, WITHOUT ROWID;`, `ALTER TABLE approvals ADD COLUMN commits TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN commits_effect TEXT NOT NULL DEFAULT '';
DROP INDEX approvals_pending;
CREATE INDEX approvals_waiting ON approvals (asked, id, call, conversation, turn, agent, user, skill, effect, outward, tainted, digest,
expires, state, code, needed, yes, decided_by, decided_via, decided_at, commits, commits_effect) WHERE state = 'pending';
CREATE TABLE approval_standing (
	id           TEXT PRIMARY KEY NOT NULL,
	matches      TEXT NOT NULL,
	user         TEXT NOT NULL,
	skill        TEXT NOT NULL,
	skill_digest TEXT NOT NULL,
	rule         TEXT NOT NULL,
	approval     TEXT NOT NULL,
	by           TEXT NOT NULL,
	via          TEXT NOT NULL,
	made         INTEGER NOT NULL,
	expires      INTEGER NOT NULL,
	uses         INTEGER NOT NULL,
	used         INTEGER NOT NULL,
	revoked_by   TEXT NOT NULL,
	revoked_at   INTEGER NOT NULL,
	sealed       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX approval_standing_matches ON approval_standing (matches);
CREATE INDEX approval_standing_user ON approval_standing (user);
CREATE TABLE approval_standing_uses (
	decision TEXT PRIMARY KEY NOT NULL,
	standing TEXT NOT NULL,
	at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX approval_standing_uses_standing ON approval_standing_uses (standing);`, `
ALTER TABLE approvals ADD COLUMN proposer TEXT NOT NULL DEFAULT '';
DROP INDEX approvals_waiting;
CREATE INDEX approvals_waiting ON approvals (asked, id, call, conversation, turn, agent, user, skill, effect, outward, tainted, digest,
expires, state, code, needed, yes, decided_by, decided_via, decided_at, commits, commits_effect, proposer) WHERE state = 'pending';
CREATE INDEX approvals_batches ON approvals (conversation, turn, asked, id, expires) WHERE state = 'pending';`}

const (
	sqlColumns = `id, call, conversation, turn, agent, user, skill, effect, outward, tainted, digest, asked, expires, state, code,
needed, yes, decided_by, decided_via, decided_at, commits, commits_effect, proposer`
	sqlInsert = `INSERT INTO approvals (` + sqlColumns + `, ended, sheet)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?, 0, '', '', 0, ?, ?, ?, 0, ?)`
	sqlGet   = `SELECT ` + sqlColumns + ` FROM approvals WHERE id = ?`
	sqlRenew = `UPDATE approvals SET digest = ?, outward = ?, tainted = ?, state = 'pending', code = '', needed = ?, yes = 0,
decided_by = '', decided_via = '', decided_at = 0, sheet = ? WHERE id = ?`
	sqlVoid   = `UPDATE approval_answers SET void = 1 WHERE approval = ?`
	sqlNeed   = `UPDATE approvals SET needed = ? WHERE id = ?`
	sqlReopen = `UPDATE approvals SET state = 'pending', code = '', needed = ?, yes = ?, decided_by = ?, decided_via = ''
WHERE id = ? AND ended = 0 AND (state = 'approved' OR state = 'superseded')`
	sqlDecide = `UPDATE approvals SET state = ?, code = ?, needed = ?, yes = ?, decided_by = ?, decided_via = ?, decided_at = ?
WHERE id = ?`
	sqlRecount  = `UPDATE approvals SET state = ?, needed = ?, yes = ?, decided_by = ? WHERE id = ?`
	sqlClose    = `UPDATE approvals SET state = ?, code = ?, ended = ? WHERE id = ? AND ended = 0`
	sqlSheet    = `SELECT sheet FROM approvals WHERE id = ?`
	sqlPutWord  = `INSERT INTO approval_answers (approval, number, word, by, via, at, void, sealed) VALUES (?, ?, ?, ?, ?, ?, 0, ?)`
	sqlNumber   = `SELECT ifnull(max(number), 0) + 1 FROM approval_answers WHERE approval = ?`
	sqlSayers   = `SELECT by FROM approval_answers WHERE approval = ? AND word = 'yes' AND void = 0 GROUP BY by ORDER BY min(number)`
	sqlWords    = `SELECT word, by, via, at, void, sealed FROM approval_answers WHERE approval = ? ORDER BY number`
	sqlOpen     = `SELECT id, call FROM approvals WHERE ended = 0`
	sqlFind     = `SELECT id FROM approvals WHERE id = ? OR ? AND substr(id, 1, ?) = ? LIMIT 2`
	sqlTurns    = `SELECT id, conversation, turn FROM approvals WHERE state = 'pending' AND expires > ?`
	sqlInOrder  = ` ORDER BY asked, id`
	sqlHasTable = `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'approvals'`

	sqlForgetWords = `DELETE FROM approval_answers WHERE approval = ?`
	sqlForgetItem  = `DELETE FROM approvals WHERE id = ?`
	sqlOfUser      = `SELECT id FROM approvals WHERE user = ? LIMIT 500`
	sqlOfTalk      = `SELECT id FROM approvals WHERE conversation = ? LIMIT 500`
	sqlEnded       = `SELECT id FROM approvals WHERE ended > 0 AND ended < ? OR ended = 0 AND expires < ? LIMIT 500`
)

// scanner is a row of either kind of connection.
type scanner interface{ Scan(dest ...any) error }

// scanItem reads the columns of sqlColumns.
func scanItem(r scanner) (i Item, err error) {
	var asked, expires, at int64
	var effect, commits, state string
	err = r.Scan(&i.ID, &i.Call, &i.Conversation, &i.Turn, &i.Agent, &i.User, &i.Skill, &effect, &i.Outward, &i.Tainted, &i.Digest,
		&asked, &expires, &state, &i.Code, &i.Needed, &i.Yes, &i.By, &i.Via, &at, &i.Commits, &commits, &i.Proposer)
	i.Effect, i.CommitsEffect, i.State = skills.Effect(effect), skills.Effect(commits), State(state)
	i.Asked, i.Expires = time.UnixMilli(asked).UTC(), time.UnixMilli(expires).UTC()
	if at > 0 {
		i.At = time.UnixMilli(at).UTC()
	}
	return i, err
}

// sqlPacked reads the columns of sqlColumns of all rows as one text: a list of thousands costs a twentieth
// of what its columns cost one by one. No column can hold a separator, which is a control character.
// SQLite sorts once more where the aggregate itself asks for an order, and keeps the order of the rows
// where it doesn't, without a promise: see parseList.
const (
	sqlPacked    = `SELECT ifnull(group_concat(row, char(30)), '') FROM (SELECT concat_ws(char(31), ` + sqlColumns + `) AS row FROM approvals`
	sqlPackedEnd = ` ORDER BY asked, id LIMIT ?)`

	packedColumns   = 23
	rowSeparator    = "\x1e"
	columnSeparator = "\x1f"
)

// errRow is the error for a row that the inbox did not write.
var errRow = errors.New("a row of the approvals is not as the inbox writes it")

// parsePacked reads a row of sqlPacked.
func parsePacked(row string) (i Item, err error) {
	var f [packedColumns]string
	for n := range f {
		var more bool
		if f[n], row, more = strings.Cut(row, columnSeparator); more == (n == len(f)-1) {
			return i, errRow
		}
	}
	var numbers [7]int64
	for n, column := range [7]int{8, 9, 11, 12, 15, 16, 19} {
		if numbers[n], err = strconv.ParseInt(f[column], 10, 64); err != nil {
			return i, errRow
		}
	}
	i = Item{
		ID: f[0], Call: f[1], Conversation: f[2], Turn: f[3], Agent: f[4], User: f[5], Skill: f[6], Effect: skills.Effect(f[7]),
		Outward: numbers[0] != 0, Tainted: numbers[1] != 0, Digest: f[10], Asked: time.UnixMilli(numbers[2]).UTC(),
		Expires: time.UnixMilli(numbers[3]).UTC(), State: State(f[13]), Code: f[14], Needed: int(numbers[4]), Yes: int(numbers[5]),
		By: f[17], Via: f[18], Commits: f[20], CommitsEffect: skills.Effect(f[21]),
		Proposer: f[22],
	}
	if numbers[6] > 0 {
		i.At = time.UnixMilli(numbers[6]).UTC()
	}
	return i, nil
}

// parseList reads the text of sqlPacked, in the order in which the questions were put.
func parseList(packed string) ([]Item, error) {
	list := make([]Item, 0, 1+strings.Count(packed, rowSeparator))
	for row := range strings.SplitSeq(packed, rowSeparator) {
		i, err := parsePacked(row)
		if err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	inOrder := func(a, b Item) int { return cmp.Or(a.Asked.Compare(b.Asked), strings.Compare(a.ID, b.ID)) }
	if !slices.IsSortedFunc(list, inOrder) {
		slices.SortFunc(list, inOrder)
	}
	return list, nil
}

// showAt is the item as it is at that moment: a question whose time is over has expired, also
// where no process has said so on record yet.
func (i Item) showAt(now time.Time) Item {
	if i.State == StatePending && !now.Before(i.Expires) {
		i.State = StateExpired
	}
	return i
}

// getItem reads an approval. The error wraps ErrUnknown where there is none.
func getItem(ctx context.Context, r *store.Reader, id string) (Item, error) {
	row, err := scanItem(r.QueryRow(ctx, sqlGet, id))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return row, fmt.Errorf("%w: %q", ErrUnknown, id)
	case err != nil:
		return row, fmt.Errorf("read the approval: %w", err)
	}
	return row, nil
}

// readItemTx reads an approval in a submission. ErrUnknown: there is none.
func readItemTx(tx *store.Tx, id string) (i Item, err error) {
	rows, err := tx.Query(sqlGet, id)
	if err != nil {
		return i, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if !rows.Next() {
		return i, errors.Join(rows.Err(), fmt.Errorf("%w: %q", ErrUnknown, id))
	}
	return scanItem(rows)
}

// List returns the approvals that a database holds, the oldest first, as they are at that
// moment. It needs no key and no writer: it works beside the process that asks. A database
// that never had an approval has none.
func List(ctx context.Context, r *store.Reader, f Filter, now time.Time) ([]Item, error) {
	tables := 0
	if err := r.QueryRow(ctx, sqlHasTable).Scan(&tables); err != nil || tables == 0 {
		return nil, err
	}
	list, more, err := queryItems(ctx, r, f, now)
	if err != nil {
		return nil, fmt.Errorf("read the approvals: %w", err)
	}
	return numberBatches(ctx, r, list, !more && f.isWhole(), now)
}

// queryItems reads the rows that a filter chooses, and whether there are more than its limit.
func queryItems(ctx context.Context, r *store.Reader, f Filter, now time.Time) (list []Item, more bool, err error) {
	where, args := f.buildWhere(now)
	f.Limit = f.limit()
	var packed string
	if err := r.QueryRow(ctx, sqlPacked+where+sqlPackedEnd, append(args, f.Limit+1)...).Scan(&packed); err != nil || packed == "" {
		return nil, false, err
	}
	if list, err = parseList(packed); err != nil {
		return nil, false, err
	}
	for i := range list {
		list[i] = list[i].showAt(now)
	}
	if more = len(list) > f.Limit; more {
		list = list[:f.Limit]
	}
	return list, more, nil
}

// buildWhere builds the condition of constants and placeholders.
func (f Filter) buildWhere(now time.Time) (string, []any) {
	cond, args := " WHERE 1 = 1", []any{}
	add := func(more string, values ...any) { cond, args = cond+" AND "+more, append(args, values...) }
	switch {
	case f.All:
	case f.State == "" || f.State == StatePending:
		add("state = 'pending' AND expires > ?", now.UnixMilli())
	case f.State == StateExpired:
		add("(state = 'expired' OR state = 'pending' AND expires <= ?)", now.UnixMilli())
	default:
		add("state = ?", string(f.State))
	}
	if f.Conversation != "" {
		add("conversation IN (?, ?, ?)", f.Conversation, cmp.Or(f.OrConversations[0], f.Conversation),
			cmp.Or(f.OrConversations[1], f.Conversation))
	}
	for _, c := range []struct{ column, value string }{{"user", f.User}, {"skill", f.Skill}} {
		if c.value != "" {
			add(c.column+" = ?", c.value)
		}
	}
	if f.After != "" {
		add("(asked, id) > (SELECT asked, id FROM approvals WHERE id = ?)", f.After)
	}
	return cond, args
}

// limit is how many approvals are listed at most.
func (f Filter) limit() int {
	if f.Limit <= 0 {
		return maxListed
	}
	return min(f.Limit, maxListed+1) // one more tells whether there are more
}

// isOfWaiting reports whether the filter chooses among the calls that wait alone.
func (f Filter) isOfWaiting() bool { return !f.All && (f.State == "" || f.State == StatePending) }

// chooses reports whether the filter chooses an approval, whatever its state.
func (f Filter) chooses(i *Item) bool {
	return (f.Conversation == "" || f.Conversation == i.Conversation || slices.Contains(f.OrConversations[:], i.Conversation)) &&
		(f.User == "" || f.User == i.User) &&
		(f.Skill == "" || f.Skill == i.Skill)
}

// isWhole reports whether the filter chooses every call that waits.
func (f Filter) isWhole() bool { return f == Filter{Limit: f.Limit} }

// batchKey is what the calls of one batch have in common.
type batchKey struct{ conversation, turn string }

// numberBatches says of each call that waits which of its turn's calls it is. A whole list
// has all of them; otherwise those that it leaves out are counted too.
func numberBatches(ctx context.Context, r *store.Reader, list []Item, whole bool, now time.Time) ([]Item, error) {
	places, sizes := map[string]int{}, map[batchKey]int{}
	count := func(id string, k batchKey) {
		sizes[k]++
		places[id] = sizes[k]
	}
	if whole {
		for i := range list {
			count(list[i].ID, batchKey{list[i].Conversation, list[i].Turn})
		}
	} else if err := countWaiting(ctx, r, list, now, count); err != nil {
		return nil, fmt.Errorf("read the approvals: %w", err)
	}
	for i := range list {
		if n := places[list[i].ID]; n > 0 {
			list[i].Place, list[i].Of = n, sizes[batchKey{list[i].Conversation, list[i].Turn}]
		}
	}
	return list, nil
}

// fewConversations is up to how many conversations their waiting calls are looked up one by one.
const fewConversations = 500

// countWaiting goes through the calls that wait in the conversations of the list, in their order, or
// through all that wait where the list has many.
func countWaiting(ctx context.Context, r *store.Reader, list []Item, now time.Time, count func(id string, k batchKey)) (err error) {
	query, args, seen := sqlTurns, []any{now.UnixMilli()}, map[string]bool{}
	for i := range list {
		if list[i].State == StatePending && !seen[list[i].Conversation] {
			seen[list[i].Conversation] = true
			args = append(args, list[i].Conversation)
		}
	}
	switch few := len(args) - 1; {
	case few == 0:
		return nil
	case few > fewConversations:
		args = args[:1]
	default:
		query += " AND conversation IN (?" + strings.Repeat(", ?", few-1) + ")"
	}
	rows, err := r.Query(ctx, query+sqlInOrder, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		var k batchKey
		if err := rows.Scan(&id, &k.conversation, &k.turn); err != nil {
			return err
		}
		count(id, k)
	}
	return rows.Err()
}

// FindID returns the id that begins with the text: the whole of it, or four characters at
// least. The error is ErrUnknown or ErrAmbiguous.
func FindID(ctx context.Context, r *store.Reader, begin string) (id string, err error) {
	tables := 0
	if err := r.QueryRow(ctx, sqlHasTable).Scan(&tables); err != nil {
		return "", fmt.Errorf("read the approvals: %w", err)
	}
	if tables == 0 || begin == "" {
		return "", fmt.Errorf("%w: %q", ErrUnknown, begin)
	}
	rows, err := r.Query(ctx, sqlFind, begin, len(begin) >= minPrefix, len(begin), begin)
	if err != nil {
		return "", fmt.Errorf("read the approvals: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	found := 0
	for rows.Next() {
		var next string
		if err := rows.Scan(&next); err != nil {
			return "", fmt.Errorf("read the approvals: %w", err)
		}
		if found++; next == begin {
			return next, nil
		}
		id = next
	}
	switch {
	case rows.Err() != nil:
		return "", rows.Err()
	case found == 0:
		return "", fmt.Errorf("%w: %q", ErrUnknown, begin)
	case found > 1:
		return "", ErrAmbiguous
	}
	return id, nil
}

// minPrefix is how much of an id names an approval.
const minPrefix = 4

// ForgetTx deletes up to 500 approvals of a user, or of one conversation, with their answers. It
// returns how many; with 0 there are none left. What they held sealed is the journal's to erase.
//
// The standing approvals of a user go too. A process whose inbox is open calls Inbox.ForgetTx.
func ForgetTx(tx *store.Tx, user, conversation string) (int, error) {
	ids, err := forgetTx(tx, user, conversation)
	return len(ids), err
}

// forgetTx returns the ids that it deleted.
func forgetTx(tx *store.Tx, user, conversation string) ([]string, error) {
	tables := 0
	if _, err := tx.QueryRow([]any{&tables}, sqlHasTable); err != nil || tables == 0 {
		return nil, err
	}
	query, arg := sqlOfUser, user
	if user == "" {
		query, arg = sqlOfTalk, conversation
	} else if err := forgetStandingTx(tx, user); err != nil {
		return nil, err
	}
	return deleteItems(tx, query, arg)
}

// deleteItems deletes the approvals whose ids a query returns, and returns the ids.
func deleteItems(tx *store.Tx, query string, args ...any) ([]string, error) {
	ids, err := collectTexts(tx, query, args...)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		for _, statement := range []string{sqlForgetWords, sqlForgetItem} {
			if _, err := tx.Exec(statement, id); err != nil {
				return nil, err
			}
		}
	}
	return ids, nil
}

// collectTexts returns the first column of a query.
func collectTexts(tx *store.Tx, query string, args ...any) (out []string, err error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

var _ scanner = (*sql.Rows)(nil)
