package journal

// schema holds the journal's tables. Rows of journal_keys are added at the end and
// overwritten in place, never deleted. See the package comment before changing
// that.
var schema = []string{`CREATE TABLE journal_keys (
	id      INTEGER PRIMARY KEY NOT NULL,
	wrapped BLOB NOT NULL
) STRICT;
CREATE TABLE journal_values (
	id           INTEGER PRIMARY KEY NOT NULL,
	created      INTEGER NOT NULL,
	expires      INTEGER NOT NULL,
	call         TEXT NOT NULL,
	conversation TEXT NOT NULL,
	user         TEXT NOT NULL,
	kind         TEXT NOT NULL,
	name         TEXT NOT NULL,
	sealed       BLOB NOT NULL
) STRICT;
CREATE INDEX journal_values_call ON journal_values (call);
CREATE INDEX journal_values_conversation ON journal_values (conversation);
CREATE INDEX journal_values_expires ON journal_values (expires);`}

const (
	sqlLast   = `SELECT ifnull(max(id), 0) FROM journal_keys`
	sqlPutKey = `INSERT INTO journal_keys (id, wrapped) VALUES (?, ?)`
	sqlPut    = `INSERT INTO journal_values (id, created, expires, call, conversation, user, kind, name, sealed)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlSelect = `SELECT v.id, v.created, v.expires, v.call, v.conversation, v.user, v.kind, v.name, v.sealed, k.wrapped
FROM journal_values v JOIN journal_keys k ON k.id = v.id`
	sqlTables = `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'journal_values'`

	sqlHasKey = `SELECT count(*), (SELECT ifnull(max(id), 0) FROM journal_keys) FROM journal_keys WHERE id = ?`

	sqlOfUser         = `SELECT id FROM journal_values WHERE user = ? LIMIT ?`
	sqlOfConversation = `SELECT id FROM journal_values WHERE conversation = ? LIMIT ?`
	sqlOfCall         = `SELECT id FROM journal_values WHERE call = ? LIMIT ?`
	sqlExpired        = `SELECT id FROM journal_values WHERE expires <= ? LIMIT ?`

	sqlEraseKey = `UPDATE journal_keys SET wrapped = ? WHERE id = ?`
	sqlErase    = `DELETE FROM journal_values WHERE id = ?`
)
