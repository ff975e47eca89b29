package ledger

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// byteKind names what a byte of a database file is.
type byteKind struct {
	kind string
	at   []int64 // offsets
}

// countPerKind is how many bytes of each kind are changed.
func countPerKind() int {
	if os.Getenv("VEDETTE_LONG") != "" {
		return 60
	}
	return 1
}

// Whichever byte of a ledger's file is changed, Verify notices, or no reader sees anything else than before. The
// test reads the file as SQLite lays it out, changes bytes of every kind and compares what all readers see.
func TestTamperEveryKindOfByte(t *testing.T) {
	path, signers, heads := rotatedAtLength(t)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	key := signers[0].PublicKey()
	before, err := readEverything(t, path)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // which bytes are tried must repeat
	counts := map[string]*tally{}
	copied := filepath.Join(t.TempDir(), "copy.db")
	for _, k := range listByteKinds(t, data) {
		c := &tally{said: map[string]int{}}
		counts[k.kind] = c
		for _, at := range chooseOffsets(random, k.at, countPerKind()) {
			changed := bytes.Clone(data)
			changed[at] ^= byte(1 + random.IntN(255))
			require.NoError(t, os.WriteFile(copied, changed, 0o600))
			c.tried++
			said := verifyCopy(t, copied, key, heads)
			if said != "" {
				c.said[said]++
				continue
			}
			after, err := readEverything(t, copied)
			require.NoError(t, err, "%s at %d: Verify has not noticed that a reader fails", k.kind, at)
			require.Equal(t, before, after, "%s at %d: Verify has not noticed that a reader sees something else", k.kind, at)
			c.unseen++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%-34s %s", kind, counts[kind])
	}
	for _, kind := range []string{"ledger_records: user", "ledger_records: body", "ledger_heads: note", "ledger_hashes: hashes"} {
		require.Zero(t, counts[kind].unseen, kind)
		require.NotZero(t, counts[kind].tried, kind)
	}
}

// tally is what became of the changes of one kind of byte.
type tally struct {
	tried, unseen int
	said          map[string]int
}

func (c *tally) String() string {
	var said []string
	for _, k := range slices.Sorted(maps.Keys(c.said)) {
		said = append(said, fmt.Sprintf("%s %d", k, c.said[k]))
	}
	return fmt.Sprintf("tried %d, noticed %d (%s), same to every reader %d", c.tried, c.tried-c.unseen, strings.Join(said, ", "), c.unseen)
}

// verifyCopy returns the kind of the first problem of a copy, "" for none.
func verifyCopy(t *testing.T, path, key string, heads [][]byte) string {
	t.Helper()
	r, err := Verify(t.Context(), path, VerifyOptions{PublicKey: key, Heads: heads, Derive: func(string, []byte) []Column { return nil }})
	switch {
	case len(r.Problems) > 0:
		require.ErrorIs(t, err, ErrTampered)
		return r.Problems[0].Kind
	case errors.Is(err, ErrTampered):
		return "damaged"
	case err != nil:
		return "unreadable"
	}
	return ""
}

// rotatedAtLength makes a closed ledger of some hundred records in groups of several sizes, with a rotated key and
// rows that were deleted beside it, so that the file has free pages.
func rotatedAtLength(t *testing.T) (path string, signers [2]*Signer, heads [][]byte) {
	t.Helper()
	signers = [2]*Signer{newSigner(t), newSigner(t)}
	path = filepath.Join(t.TempDir(), "ledger.db")
	st := openStore(t, path)
	l, err := Open(t.Context(), st, signers[0], Options{})
	require.NoError(t, err)
	const table = `CREATE TABLE others (n INTEGER PRIMARY KEY NOT NULL, b BLOB NOT NULL) STRICT`
	require.NoError(t, st.Migrate(t.Context(), "others", []string{table}))
	require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO others (n, b) VALUES (1, zeroblob(60000))`)
		return err
	}))
	for n := 0; n < 300; n += 10 {
		appendOne(t, st, l, n, 10)
		if n == 150 {
			require.NoError(t, l.RotateKey(t.Context(), signers[1], "ann"))
		}
		head, err := l.ExportHead(t.Context())
		require.NoError(t, err)
		heads = append(heads, head)
	}
	require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM others`)
		return err
	}))
	require.NoError(t, st.Checkpoint(t.Context()))
	require.NoError(t, st.Close())
	return path, signers, heads
}

// readEverything is all that readers of the ledger can see: rows in every order that an index gives, and heads.
func readEverything(t *testing.T, path string) (string, error) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	var out strings.Builder
	for _, q := range []string{
		"SELECT * FROM ledger_records ORDER BY idx",
		"SELECT idx, id FROM ledger_records INDEXED BY sqlite_autoindex_ledger_records_1 ORDER BY id",
		"SELECT idx, call FROM ledger_records INDEXED BY ledger_records_call ORDER BY call",
		"SELECT idx, conversation FROM ledger_records INDEXED BY ledger_records_conversation ORDER BY conversation",
		"SELECT idx, user FROM ledger_records INDEXED BY ledger_records_user ORDER BY user",
		"SELECT idx, decision FROM ledger_records INDEXED BY ledger_records_decision WHERE decision <> '' ORDER BY decision",
		"SELECT idx, skill FROM ledger_records INDEXED BY ledger_records_skill WHERE skill <> '' ORDER BY skill",
		"SELECT idx, agent FROM ledger_records INDEXED BY ledger_records_agent WHERE agent <> '' ORDER BY agent",
		"SELECT idx, gate FROM ledger_records INDEXED BY ledger_records_gate WHERE gate <> '' ORDER BY gate",
		"SELECT idx, code FROM ledger_records INDEXED BY ledger_records_code WHERE code <> '' ORDER BY code",
		"SELECT idx, outcome FROM ledger_records INDEXED BY ledger_records_outcome WHERE outcome NOT IN ('', 'allow', 'ok') ORDER BY outcome",
		"SELECT idx, kind FROM ledger_records INDEXED BY ledger_records_kind WHERE kind NOT IN ('decision', 'outcome') ORDER BY kind",
		"SELECT * FROM ledger_times ORDER BY start",
		"SELECT * FROM ledger_hashes ORDER BY first", "SELECT * FROM ledger_heads ORDER BY size",
	} {
		if err := readRows(db, q, &out); err != nil {
			return "", err
		}
	}
	for n := range 300 { // by seeking, as queries do
		if err := readRows(db, fmt.Sprintf("SELECT idx, user FROM ledger_records WHERE call = 'call-%d'", n), &out); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

func readRows(db *sql.DB, query string, out *strings.Builder) (err error) {
	rows, err := db.Query(query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		fmt.Fprintf(out, "%#v\n", values)
	}
	return rows.Err()
}

// chooseOffsets takes some bytes of a kind.
func chooseOffsets(r *rand.Rand, all []int64, n int) []int64 {
	out := make([]int64, 0, n)
	for _, i := range r.Perm(len(all))[:min(n, len(all))] {
		out = append(out, all[i])
	}
	return out
}

// listByteKinds tells what each byte of a database is, by SQLite's file format.
func listByteKinds(t *testing.T, data []byte) []byteKind {
	t.Helper()
	f := &fileMap{data: data, size: int64(binary.BigEndian.Uint16(data[16:])), kinds: map[string][]int64{}}
	f.add("file header", 0, 100)
	seen := map[int64]bool{}
	f.walkTree("sqlite_schema", 1, seen, []string{"type", "name", "tbl_name", "rootpage", "sql"})
	for name, root := range listRoots(t, data) {
		f.walkTree(name, root, seen, columnsOf[name])
	}
	for trunk := int64(binary.BigEndian.Uint32(data[32:])); trunk != 0; { // pages that are free
		at := (trunk - 1) * f.size
		f.add("free page: list", at, 8)
		seen[trunk] = true
		n := int64(binary.BigEndian.Uint32(data[at+4:]))
		f.add("free page: list", at+8, 4*n)
		f.add("free page: rest", at+8+4*n, f.size-8-4*n)
		for i := range n {
			leaf := int64(binary.BigEndian.Uint32(data[at+8+4*i:]))
			seen[leaf] = true
			f.add("free page: rest", (leaf-1)*f.size, f.size)
		}
		trunk = int64(binary.BigEndian.Uint32(data[at:]))
	}
	for p := int64(1); p <= int64(len(data))/f.size; p++ {
		require.True(t, seen[p], "page %d is of no kind", p)
	}
	var out []byteKind
	for _, kind := range slices.Sorted(maps.Keys(f.kinds)) {
		out = append(out, byteKind{kind, f.kinds[kind]})
	}
	return out
}

var columnsOf = map[string][]string{
	"ledger_records": {"idx", "id", "time", "kind", "call", "decision", "conversation", "user", "agent", "skill", "outcome", "gate",
		"code", "body"},
	"ledger_heads": {"size", "note"}, "ledger_hashes": {"first", "hashes"}, "ledger_times": {"start", "oldest", "newest"},
}

// listRoots reads the root pages of tables and indexes.
func listRoots(t *testing.T, data []byte) map[string]int64 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "roots.db")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	rows, err := db.Query("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	out := map[string]int64{}
	for rows.Next() {
		var name string
		var root int64
		require.NoError(t, rows.Scan(&name, &root))
		out[name] = root
	}
	require.NoError(t, rows.Err())
	return out
}

// fileMap collects the offsets of each kind of byte.
type fileMap struct {
	data  []byte
	size  int64
	kinds map[string][]int64
}

func (f *fileMap) add(kind string, at, n int64) {
	for i := range n {
		f.kinds[kind] = append(f.kinds[kind], at+i)
	}
}

// walkTree goes over the pages of a table or an index.
func (f *fileMap) walkTree(name string, page int64, seen map[int64]bool, columns []string) {
	seen[page] = true
	start := (page - 1) * f.size
	header := start
	if page == 1 {
		header += 100
	}
	if !strings.HasPrefix(name, "ledger_") && name != "sqlite_schema" && !strings.Contains(name, "ledger") {
		name = "other table"
	}
	kind := f.data[header]
	cells := int64(binary.BigEndian.Uint16(f.data[header+3:]))
	length := int64(8)
	if kind == 2 || kind == 5 {
		length = 12
	}
	what := name
	if strings.HasPrefix(name, "ledger_records_") || strings.HasPrefix(name, "sqlite_autoindex") {
		what = "index of ledger_records"
	}
	f.add(what+": page header", header, length)
	f.add(what+": cell pointers", header+length, 2*cells)
	used := []int64{}
	for i := range cells {
		at := start + int64(binary.BigEndian.Uint16(f.data[header+length+2*i:]))
		used = append(used, at, f.walkCell(what, kind, at, seen, columns, name))
	}
	if kind == 2 || kind == 5 {
		f.walkTree(name, int64(binary.BigEndian.Uint32(f.data[header+8:])), seen, columns)
	}
	sort.Slice(used, func(i, j int) bool { return used[i] < used[j] })
	last := header + length + 2*cells
	for i := 0; i+1 < len(used); i += 2 {
		f.add(what+": room between rows", last, max(0, used[i]-last))
		last = used[i+1]
	}
	f.add(what+": room between rows", last, max(0, start+f.size-last))
}

// walkCell names the bytes of one cell, and returns where it ends.
func (f *fileMap) walkCell(what string, kind byte, at int64, seen map[int64]bool, columns []string, name string) int64 {
	begin := at
	if kind == 2 || kind == 5 {
		f.add(what+": child pointer", at, 4)
		f.walkTree(name, int64(binary.BigEndian.Uint32(f.data[at:])), seen, columns)
		at += 4
	}
	if kind == 5 {
		_, n := varint(f.data[at:])
		f.add(what+": row number in inner page", at, n)
		return at + n
	}
	payload, n := varint(f.data[at:])
	at += n
	if kind == 13 {
		_, n := varint(f.data[at:])
		f.add(what+": row number", at, n)
		at += n
	}
	f.add(what+": payload size", begin, n)
	local := f.localPayload(kind, payload)
	f.addPayload(what, at, local, columns)
	if local == payload {
		return at + local
	}
	f.add(what+": overflow pointer", at+local, 4)
	for next := int64(binary.BigEndian.Uint32(f.data[at+local:])); next != 0; {
		seen[next] = true
		page := (next - 1) * f.size
		f.add(what+": overflow page", page, f.size)
		next = int64(binary.BigEndian.Uint32(f.data[page:]))
	}
	return at + local + 4
}

// localPayload is how much of a payload stands in its own page, by SQLite's file format.
func (f *fileMap) localPayload(kind byte, payload int64) int64 {
	most := f.size - 35
	if kind != 13 {
		most = (f.size-12)*64/255 - 23
	}
	if payload <= most {
		return payload
	}
	least := (f.size-12)*32/255 - 23
	if k := least + (payload-least)%(f.size-4); k <= most {
		return k
	}
	return least
}

// addPayload names the bytes of a record: the types of its columns, and each column.
func (f *fileMap) addPayload(what string, at, local int64, columns []string) {
	length, n := varint(f.data[at:])
	f.add(what+": types of columns", at, min(length, local))
	value := at + length
	for i, head := 0, at+n; head < at+length; i++ {
		serial, m := varint(f.data[head:])
		head += m
		column := "columns"
		if i < len(columns) {
			column = columns[i]
		}
		size := min(sizeOfSerial(serial), max(0, at+local-value))
		f.add(what+": "+column, value, size)
		value += size
	}
}

// sizeOfSerial is the size of a value by its serial type.
func sizeOfSerial(serial int64) int64 {
	if serial >= 12 {
		return (serial - 12) / 2
	}
	return [...]int64{0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0}[serial]
}

// varint reads SQLite's numbers of variable length.
func varint(b []byte) (v, n int64) {
	for i := range int64(8) {
		v = v<<7 | int64(b[i]&0x7f)
		if b[i] < 0x80 {
			return v, i + 1
		}
	}
	return v<<8 | int64(b[8]), 9
}

// Each byte of a key file that is changed is refused: as another key, or as none.
func TestTamperPublicKey(t *testing.T) {
	signer := newSigner(t)
	path, _ := written(t, signer)
	key := []byte(signer.PublicKey())
	for i := range key {
		changed := bytes.Clone(key)
		changed[i] ^= 1
		_, err := Verify(t.Context(), path, VerifyOptions{PublicKey: string(changed)})
		require.Error(t, err, "byte %d of %s", i, hex.EncodeToString(key))
	}
}
