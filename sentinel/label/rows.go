package label

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// schema holds labels, and what the queue is made of. Rows of labels are only added; standing says which of a
// reviewer's is the newest. sealed is the number of a note in the journal, or 0.
var schema = []string{`CREATE TABLE labels (
	number       INTEGER PRIMARY KEY NOT NULL,
	id           TEXT NOT NULL UNIQUE,
	record       TEXT NOT NULL,
	decision     TEXT NOT NULL,
	call         TEXT NOT NULL,
	conversation TEXT NOT NULL,
	user         TEXT NOT NULL,
	skill        TEXT NOT NULL,
	decided      TEXT NOT NULL,
	gate         TEXT NOT NULL,
	code         TEXT NOT NULL,
	word         TEXT NOT NULL,
	should       TEXT NOT NULL,
	reviewer     TEXT NOT NULL,
	via          TEXT NOT NULL,
	at           INTEGER NOT NULL,
	standing     INTEGER NOT NULL,
	sealed       INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX labels_standing ON labels (record, reviewer) WHERE standing = 1;
CREATE TABLE label_queue (
	idx    INTEGER PRIMARY KEY NOT NULL,
	record TEXT NOT NULL,
	why    TEXT NOT NULL
) STRICT;
CREATE TABLE label_skills (
	skill TEXT PRIMARY KEY NOT NULL,
	calls INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE label_scanned (
	one INTEGER PRIMARY KEY NOT NULL,
	idx INTEGER NOT NULL
) STRICT;`}

const (
	sqlColumns = `id, record, decision, call, conversation, user, skill, decided, gate, code, word, should, reviewer, via, at,
standing, sealed`
	sqlInsert  = `INSERT INTO labels (` + sqlColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?)`
	sqlReplace = `UPDATE labels SET standing = 0 WHERE record = ? AND reviewer = ? AND standing = 1`

	sqlStanding = `SELECT ` + sqlColumns + ` FROM labels WHERE record = ? AND reviewer = ? AND standing = 1`
	sqlHasSaid  = `SELECT count(*) FROM labels WHERE record = ? AND reviewer = ? AND standing = 1`
	sqlHasTable = `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'labels'`
	sqlOpinions = `SELECT record, decided, word, should FROM labels WHERE standing = 1 ORDER BY record`
	sqlOfRecord = `SELECT ` + sqlColumns + ` FROM labels WHERE record = ? AND standing = 1 ORDER BY number`
	// What a reviewer may see of others: of decisions of which they have said something.
	sqlVisible = `EXISTS (SELECT 1 FROM labels AS own WHERE own.record = labels.record AND own.reviewer = ? AND own.standing = 1)`
	// What somebody holds to be right counts: two who say wrong may want different things.
	sqlDisputes = `SELECT record FROM labels WHERE standing = 1 AND word <> 'unsure' AND (? = '' OR ` + sqlVisible + `)
GROUP BY record HAVING count(DISTINCT word || ' ' || should) > 1 ORDER BY max(number) DESC LIMIT ?`
)

// Filter chooses labels; what is empty chooses all.
type Filter struct {
	// Record is the id of a decision's record.
	Record, By, User, Skill string
	Word                    Word
	// Viewer is a reviewer who sees of others what was said of decisions of which they said something themselves.
	// Empty shows all.
	Viewer string
	// All lists those too that their reviewers have replaced.
	All bool
	// After is the id of the last label of the page before.
	After string
	// Limit is how many are listed at most: 1 to 1,000, and 100 if zero.
	Limit int
}

const (
	defaultListed = 100
	maxListed     = 1000
)

// where is the filter's condition of constants and placeholders.
func (f Filter) where() (string, []any) {
	conds, args := []string{"1 = 1"}, []any{}
	add := func(cond string, arg ...any) { conds, args = append(conds, cond), append(args, arg...) }
	for _, c := range []struct{ column, value string }{
		{"record", f.Record}, {"reviewer", f.By}, {"user", f.User}, {"skill", f.Skill}, {"word", string(f.Word)},
	} {
		if c.value != "" {
			add(c.column+" = ?", c.value)
		}
	}
	if !f.All {
		add("standing = 1")
	}
	if f.Viewer != "" {
		add("(reviewer = ? OR "+sqlVisible+")", f.Viewer, f.Viewer)
	}
	if f.After != "" {
		add("number < (SELECT number FROM labels AS last WHERE last.id = ?)", f.After)
	}
	return strings.Join(conds, " AND "), args
}

// hasTable reports whether there ever was a label.
func hasTable(ctx context.Context, r *store.Reader) (bool, error) {
	n := 0
	err := r.QueryRow(ctx, sqlHasTable).Scan(&n)
	return n > 0, err
}

// List returns labels of a database, the newest first, for readers that have no key: without notes. A database
// that never had one has none.
func List(ctx context.Context, r *store.Reader, f Filter) ([]Label, error) {
	if has, err := hasTable(ctx, r); err != nil || !has {
		return nil, err
	}
	if f.Limit <= 0 {
		f.Limit = defaultListed
	}
	where, args := f.where()
	return queryLabels(ctx, r, `SELECT `+sqlColumns+` FROM labels WHERE `+where+` ORDER BY number DESC LIMIT ?`,
		append(args, min(f.Limit, maxListed))...)
}

// Dispute is a decision that reviewers hold to be different things.
type Dispute struct {
	Record string  `json:"record"`
	Labels []Label `json:"labels"`
}

// ListDisputes returns the decisions of which reviewers said different things, the one last said something of
// first, without notes. With a viewer they are those of which the viewer has said something.
func ListDisputes(ctx context.Context, r *store.Reader, viewer string, limit int) (out []Dispute, err error) {
	if has, err := hasTable(ctx, r); err != nil || !has {
		return nil, err
	}
	if limit <= 0 {
		limit = defaultListed
	}
	rows, err := r.Query(ctx, sqlDisputes, viewer, viewer, min(limit, maxListed))
	if err != nil {
		return nil, fmt.Errorf("read labels: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var d Dispute
		if err := rows.Scan(&d.Record); err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].Labels, err = queryLabels(ctx, r, sqlOfRecord, out[i].Record); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// queryLabels reads labels without their notes.
func queryLabels(ctx context.Context, r *store.Reader, query string, args ...any) (out []Label, err error) {
	rows, err := r.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read labels: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		one, err := scanLabel(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, rows.Err()
}

// scanner is a row of either kind of connection.
type scanner interface{ Scan(dest ...any) error }

// scanLabel reads the columns of sqlColumns.
func scanLabel(r scanner) (l Label, err error) {
	var at int64
	var word string
	standing := false
	err = r.Scan(&l.ID, &l.Record, &l.Decision, &l.Call, &l.Conversation, &l.User, &l.Skill, &l.Decided, &l.Gate, &l.Code, &word, &l.Should,
		&l.By, &l.Via, &at, &standing, &l.sealed)
	l.Word, l.At, l.Replaced, l.HasNote = Word(word), time.UnixMilli(at).UTC(), !standing, l.sealed != 0
	return l, err
}

// Opinion is what the reviewers of a decision hold of it together.
type Opinion struct {
	// Decided is what was decided.
	Decided string
	// Class says what they hold of that.
	Class Class
}

// Class is what reviewers hold of a decision.
type Class string

// The classes. A false alarm is TooStrict, what was missed is TooLax.
const (
	ClassRight     Class = "right"
	ClassTooStrict Class = "too_strict"
	ClassTooLax    Class = "too_lax"
	ClassDisputed  Class = "disputed"
	ClassUnsure    Class = "unsure"
)

// classOf is what one label holds of its decision.
func classOf(l *Label) Class {
	switch wanted := slices.Index(outcomes, l.Wanted()); {
	case wanted < 0:
		return ClassUnsure
	case wanted > slices.Index(outcomes, l.Decided):
		return ClassTooStrict
	case wanted < slices.Index(outcomes, l.Decided):
		return ClassTooLax
	}
	return ClassRight
}

// joinClasses is what two say together. One who can't tell takes nothing away.
func joinClasses(a, b Class) Class {
	switch {
	case a == b || b == ClassUnsure:
		return a
	case a == ClassUnsure:
		return b
	}
	return ClassDisputed
}

// ReadOpinions returns what reviewers hold of each decision that has a label, by the id of its record.
func ReadOpinions(ctx context.Context, r *store.Reader) (out map[string]Opinion, err error) {
	if has, err := hasTable(ctx, r); err != nil || !has {
		return nil, err
	}
	rows, err := r.Query(ctx, sqlOpinions)
	if err != nil {
		return nil, fmt.Errorf("read labels: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = map[string]Opinion{}
	for rows.Next() {
		one, err := scanOpinion(rows)
		if err != nil {
			return nil, err
		}
		class := classOf(&one)
		if before, ok := out[one.Record]; ok {
			class = joinClasses(before.Class, class)
		}
		out[one.Record] = Opinion{one.Decided, class}
	}
	return out, rows.Err()
}

// scanOpinion reads the columns of sqlOpinions.
func scanOpinion(rows *sql.Rows) (l Label, err error) {
	var word string
	err = rows.Scan(&l.Record, &l.Decided, &word, &l.Should)
	l.Word = Word(word)
	return l, err
}
