package ledger

// schema is also what Verify expects to find, to the letter. A view in place of a
// table would show readers something else than what was hashed. So would a trigger
// on one. A file that was closed before a step was added to it stays as it is.
var schema = []string{
	sqlRecords + ";" + sqlRecordsCall + ";" + sqlRecordsConversation + ";" + sqlRecordsUser + ";" + sqlRecordsTime + ";" +
		sqlHashes + ";" + sqlHeads + ";",
	sqlTimes + ";" + sqlFillTimes + "; DROP INDEX ledger_records_time;" + sqlRecordsDecision + ";" + sqlRecordsSkill + ";" +
		sqlRecordsAgent + ";" + sqlRecordsGate + ";" + sqlRecordsCode + ";" + sqlRecordsOutcome + ";" + sqlRecordsKind + ";",
	sqlNoUpdate + ";" + sqlNoDelete + ";",
}

const (
	sqlRecords = `CREATE TABLE ledger_records (
	idx          INTEGER PRIMARY KEY NOT NULL,
	id           TEXT NOT NULL UNIQUE,
	time         INTEGER NOT NULL,
	kind         TEXT NOT NULL,
	call         TEXT NOT NULL,
	decision     TEXT NOT NULL,
	conversation TEXT NOT NULL,
	user         TEXT NOT NULL,
	agent        TEXT NOT NULL,
	skill        TEXT NOT NULL,
	outcome      TEXT NOT NULL,
	gate         TEXT NOT NULL,
	code         TEXT NOT NULL,
	body         BLOB NOT NULL
) STRICT`
	sqlRecordsCall         = `CREATE INDEX ledger_records_call ON ledger_records (call)`
	sqlRecordsConversation = `CREATE INDEX ledger_records_conversation ON ledger_records (conversation)`
	sqlRecordsUser         = `CREATE INDEX ledger_records_user ON ledger_records (user)`
	sqlRecordsTime         = `CREATE INDEX ledger_records_time ON ledger_records (time)` // of version 1

	// What almost every record has is found without an index, so these leave it out.
	sqlRecordsDecision = `CREATE INDEX ledger_records_decision ON ledger_records (decision) WHERE ` + onlyDecision
	sqlRecordsSkill    = `CREATE INDEX ledger_records_skill ON ledger_records (skill) WHERE ` + onlySkill
	sqlRecordsAgent    = `CREATE INDEX ledger_records_agent ON ledger_records (agent) WHERE ` + onlyAgent
	sqlRecordsGate     = `CREATE INDEX ledger_records_gate ON ledger_records (gate) WHERE ` + onlyGate
	sqlRecordsCode     = `CREATE INDEX ledger_records_code ON ledger_records (code) WHERE ` + onlyCode
	sqlRecordsOutcome  = `CREATE INDEX ledger_records_outcome ON ledger_records (outcome) WHERE ` + onlyOutcome
	sqlRecordsKind     = `CREATE INDEX ledger_records_kind ON ledger_records (kind) WHERE ` + onlyKind

	onlyDecision = `decision <> ''`
	onlySkill    = `skill <> ''`
	onlyAgent    = `agent <> ''`
	onlyGate     = `gate <> ''`
	onlyCode     = `code <> ''`
	onlyOutcome  = `outcome NOT IN ('', 'allow', 'ok')`
	onlyKind     = `kind NOT IN ('decision', 'outcome')`

	// One row is about a block of 4096 records: between which times they lie. Records that a clock dated out of
	// their order are found by it, which an index on times could not promise for a range of places.
	sqlTimes = `CREATE TABLE ledger_times (
	start  INTEGER PRIMARY KEY NOT NULL,
	oldest INTEGER NOT NULL,
	newest INTEGER NOT NULL
) STRICT`
	// Every ledger of version 1 begins with record 0.
	sqlFillTimes = `INSERT INTO ledger_times (start, oldest, newest)
SELECT idx / 4096 * 4096, min(time), max(time) FROM ledger_records GROUP BY idx / 4096`
	sqlPutTimes = `INSERT INTO ledger_times (start, oldest, newest) VALUES (?, ?, ?)
ON CONFLICT (start) DO UPDATE SET oldest = min(oldest, excluded.oldest), newest = max(newest, excluded.newest)`

	// One row holds the hashes that one group added, 32 bytes each, in tlog's
	// order. first is the index of the first of them.
	sqlHashes = `CREATE TABLE ledger_hashes (
	first  INTEGER PRIMARY KEY NOT NULL,
	hashes BLOB NOT NULL
) STRICT`
	sqlHeads = `CREATE TABLE ledger_heads (
	size INTEGER PRIMARY KEY NOT NULL,
	note BLOB NOT NULL
) STRICT`

	// A record that is changed or taken out by a statement is an error of that statement. Who owns the file can drop
	// the triggers first: what finds that is Verify.
	sqlNoUpdate = `CREATE TRIGGER ledger_records_no_update BEFORE UPDATE ON ledger_records
BEGIN SELECT RAISE(ABORT, 'a record of the ledger is never changed'); END`
	sqlNoDelete = `CREATE TRIGGER ledger_records_no_delete BEFORE DELETE ON ledger_records
BEGIN SELECT RAISE(ABORT, 'a record of the ledger is never deleted'); END`

	sqlColumns = `idx, id, time, kind, call, decision, conversation, user, agent, skill, outcome, gate, code, body`

	sqlInsert = `INSERT INTO ledger_records (` + sqlColumns + `)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`
	sqlInsertHashes = `INSERT INTO ledger_hashes (first, hashes) VALUES (?, ?)`
	sqlInsertHead   = `INSERT INTO ledger_heads (size, note) VALUES (?, ?)`

	// By way of the index on call, which a file of version 1 has too.
	sqlWithout = `NOT EXISTS (SELECT 1 FROM ledger_records AS other WHERE other.call = ledger_records.call
AND +other.decision = ledger_records.decision AND +other.kind = ?)`

	// From the body, which the tree covers: a column of its own would not be.
	sqlBy = `kind = 'decision' AND CASE WHEN json_valid(CAST(body AS TEXT))
THEN json_extract(CAST(body AS TEXT), '$.approver') = ? ELSE 0 END`

	sqlFirst      = `SELECT ifnull(min(idx), 0) FROM ledger_records`
	sqlCount      = `SELECT ifnull(max(idx) + 1, 0) FROM ledger_records`
	sqlNewestHead = `SELECT note FROM ledger_heads ORDER BY size DESC LIMIT 1`
	sqlHash       = `SELECT first, hashes FROM ledger_hashes WHERE first <= ? ORDER BY first DESC LIMIT 1`
)

// timesBlock is how many records a row of ledger_times is about.
const timesBlock = 4096

// expectedAlways maps the names of the ledger's objects to the SQL that made them. The others are those of one
// version each, of which a file has exactly one.
var (
	expectedAlways = map[string]string{
		"ledger_records": sqlRecords, "ledger_records_call": sqlRecordsCall,
		"ledger_records_conversation": sqlRecordsConversation, "ledger_records_user": sqlRecordsUser,
		"ledger_hashes": sqlHashes, "ledger_heads": sqlHeads, "sqlite_autoindex_ledger_records_1": "",
	}
	expectedFirst  = map[string]string{"ledger_records_time": sqlRecordsTime}
	expectedSecond = map[string]string{
		"ledger_times": sqlTimes, "ledger_records_decision": sqlRecordsDecision, "ledger_records_skill": sqlRecordsSkill,
		"ledger_records_agent": sqlRecordsAgent, "ledger_records_gate": sqlRecordsGate, "ledger_records_code": sqlRecordsCode,
		"ledger_records_outcome": sqlRecordsOutcome, "ledger_records_kind": sqlRecordsKind,
	}
)

// guards maps the triggers that a ledger has from the third version of its tables on to the SQL that made them.
var guards = map[string]string{"ledger_records_no_update": sqlNoUpdate, "ledger_records_no_delete": sqlNoDelete}

// guardedVersion is the version of the tables from which on there are guards.
const guardedVersion = 3

// sqlVersion reads the version of the tables.
const sqlVersion = `SELECT version FROM store_migrations WHERE name = 'ledger'`
