// Package ledgertest makes large ledgers for benchmarks, through the store and the ledger that a server uses. Agents sign
// their records.
//
//	l := ledgertest.Open(b)            // as many records as VEDETTE_BENCH_RECORDS says, 100,000 without it
//	r, err := ledger.OpenReader(ctx, l.Path)
//
// A ledger of ten million records takes about 20 GB and a quarter of an hour. VEDETTE_BENCH_LEDGER names a folder in which
// it is made once and kept for the next benchmark; without it the ledger lies in the benchmark's own folder.
//
// The package isn't stable: docs/api.md lists those that are.
//
// What not to do: don't keep a folder of it for another version of the program.
package ledgertest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// Began is when the first record was written; each is two seconds later than the one before.
var Began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Ledger is a ledger that was made, with its public key.
type Ledger struct {
	Path, PublicKey string
	Records         int
}

// Users, Skills and Conversation say what the records of Entry have.
const (
	Users  = 5000
	Skills = 60
	// Conversation is how many records a conversation has; 100 conversations go on at a time.
	Conversation = 100
)

// Group is how many records have one signed head.
const Group = 64

// User is the user of the n-th record, and the others are likewise.
func User(n int) string { return fmt.Sprintf("user-%d", conversation(n)*7919%Users) }

// CallID is random, as the ids of models' calls are.
func CallID(n int) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(n / 2)))
	return "call_" + hex.EncodeToString(sum[:14])
}

// DecisionID sorts by time, as those of the program do.
func DecisionID(n int) string { return fmt.Sprintf("%08x-0000-7000-8000-%012x", n/2, n/2) }

// RecordID likewise.
func RecordID(n int) string { return fmt.Sprintf("%08x-0000-7001-8000-%012x", n, n) }

// ConversationID is that of the n-th record.
func ConversationID(n int) string {
	sum := sha256.Sum256([]byte("c" + strconv.Itoa(conversation(n))))
	return hex.EncodeToString(sum[:16])
}

// conversation numbers conversations, of which 100 take turns.
func conversation(n int) int { return n/(100*Conversation)*100 + n/2%100 }

// gatesOf writes the verdicts of a decision, as large as real ones.
func gatesOf(last string) string {
	var out []string
	for i, g := range []string{"limits", "schema", "scope", "permission", "guard", "judge", "review", "approval"} {
		outcome := "allow"
		if g == last {
			outcome = "deny"
		}
		out = append(out, fmt.Sprintf(`{"gate":%q,"state":"judged","outcome":%q,"score":null,"elapsed_us":%d}`, g, outcome, i*3))
	}
	return strings.Join(out, ",")
}

// Entry is the n-th record: decisions and their outcomes in turn, of 5,000 users and 60 skills. A call in 50 is denied
// by the permission gate, one in 5,001 by the guard, and one in 500,000 is of the skill skill.rare.
func Entry(n int) ledger.Entry {
	e := ledger.Entry{
		ID: RecordID(n), Time: Began.Add(time.Duration(n) * 2 * time.Second), Kind: "decision", Call: CallID(n), Decision: DecisionID(n),
		User: User(n), Conversation: ConversationID(n), Agent: "email_agent", Skill: fmt.Sprintf("skill.s%d", n/2*31%Skills), Outcome: "allow",
	}
	call := n / 2
	switch {
	case call%50 == 7:
		e.Outcome, e.Gate, e.Code = "deny", "permission", "permission.denied"
	case call%5001 == 9:
		e.Outcome, e.Gate = "deny", "guard"
		e.Code = e.Gate + ".path"
	case call%500_000 == 11:
		e.Skill, e.Agent = "skill.rare", "rare_agent"
	}
	if n%2 == 0 {
		e.Body = fmt.Appendf(nil, `{"v":1,"decision":%q,"call":%q,"grant":"g-17","turn":"t-%d","effect":"read","outward":false,`+
			`"tainted":false,"digest":"hmac:%064d","arg_names":["to","subject"],"arg_bytes":120,"outcome":%q,"blocked_by":%q,"code":%q,`+
			`"elapsed_us":812,"gates":[%s]}`, e.Decision, e.Call, n/40, n, e.Outcome, e.Gate, e.Code, gatesOf(e.Gate))
		return e
	}
	e.Kind, e.Outcome, e.Gate, e.Code = "outcome", "ok", "", ""
	e.Body = fmt.Appendf(nil, `{"v":1,"decision":%q,"call":%q,"status":"ok","bytes":812,"trust":"untrusted","elapsed_us":5120}`,
		e.Decision, e.Call)
	return e
}

// Open returns a ledger of as many records as the environment asks for, made now or, where the environment names a
// folder that has it, before.
func Open(tb testing.TB) Ledger {
	tb.Helper()
	records := 100_000
	if n, err := strconv.Atoi(os.Getenv("VEDETTE_BENCH_RECORDS")); err == nil {
		records = n
	}
	dir := os.Getenv("VEDETTE_BENCH_LEDGER")
	if dir == "" {
		dir = tb.TempDir()
	}
	l := Ledger{filepath.Join(dir, fmt.Sprintf("ledger-%d.db", records)), filepath.Join(dir, "ledger.pub"), records}
	done := l.Path + ".done"
	if _, err := os.Stat(done); err == nil {
		return l
	}
	began := time.Now()
	l.write(tb)
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		tb.Fatal(err)
	}
	tb.Logf("%d records were made in %v", records, time.Since(began).Round(time.Second))
	return l
}

// write makes the ledger.
func (l Ledger) write(tb testing.TB) {
	tb.Helper()
	fail := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	skey, vkey, err := note.GenerateKey(rand.Reader, "bench")
	fail(err)
	fail(os.WriteFile(l.PublicKey, []byte(vkey), 0o600))
	signer, err := ledger.NewSigner(skey)
	fail(err)
	st, err := store.Open(tb.Context(), store.Options{Path: l.Path})
	fail(err)
	led, err := ledger.Open(tb.Context(), st, signer, ledger.Options{})
	fail(err)
	agents := map[string]*ledger.AgentKey{}
	for from := 0; from < l.Records; from += Group {
		fail(st.Submit(tb.Context(), func(tx *store.Tx) error {
			for n := from; n < min(from+Group, l.Records); n++ {
				e := Entry(n)
				if agents[e.Agent] == nil {
					agents[e.Agent], err = ledger.NewAgentKey(e.Agent, [32]byte{1}, 0)
					fail(err)
				}
				fail(led.SignAs(agents[e.Agent], &e))
				if _, err := led.AppendTx(tx, e); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	fail(st.Checkpoint(tb.Context()))
	fail(st.Close())
}
