package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

func newLedgerShow(a *app, p *places) *cobra.Command {
	var values, asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one record with every gate",
		Long: `Show prints one record, every gate of its decision, and the other records of the
same call. ID is a record's id or the start of it, or the whole id of a decision
or a call.

Arguments, results and details are not in the ledger. --values opens them in the
journal, with the keys of the key folder, as long as they are kept; it needs the
database for itself, so not while a server runs on it.`,
		Example: `  vedette ledger show 0199a1b2-c3d4
  vedette ledger show 0199a1b2-c3d4 --values`,
		Args: one("name one record by its ID, or by how the ID begins; vedette ledger list shows the IDs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.fill(false, values); err != nil {
				return err
			}
			s, err := p.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if values {
				if s.Values, err = p.values(cmd.Context(), s.Record.Call); err != nil {
					return err
				}
			}
			if asJSON {
				return writeJSON(a.out, s, false)
			}
			if err := s.write(a.out, a.color); err != nil {
				return err
			}
			if !values {
				a.note("arguments, results and details are sealed in the journal: --values opens them")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&values, "values", false, "open arguments, results and details in the journal")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// shownRecord is what show prints.
type shownRecord struct {
	Record  ledger.Record   `json:"record"`
	Related []ledger.Record `json:"related"`
	Values  []shownValue    `json:"values,omitempty"`
}

// shownValue is one value of the journal: its text, or its bytes where they are
// none.
type shownValue struct {
	Kind   string `json:"kind"`
	Record string `json:"record"` // the kind of the record that it came with
	Text   string `json:"text,omitempty"`
	Bytes  []byte `json:"bytes,omitempty"`
}

// find reads the record, and the others of its call.
func (p *places) find(ctx context.Context, id string) (s shownRecord, err error) {
	r, err := p.reader(ctx)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	s.Record, err = get(ctx, r, id)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return s, &failure{exitFailed, fmt.Errorf("no record, decision or call has the id %q", id), "vedette ledger list shows the ids"}
	case errors.Is(err, ledger.ErrAmbiguous):
		return s, &failure{exitFailed, fmt.Errorf("several records start with %q", id), "give more of the id; vedette ledger list shows the ids"}
	case err != nil:
		return s, p.explain(err)
	}
	s.Related = []ledger.Record{}
	if s.Record.Call == "" {
		return s, nil
	}
	all, err := r.List(ctx, ledger.Query{Call: s.Record.Call})
	for _, rec := range all {
		if rec.ID != s.Record.ID {
			s.Related = append(s.Related, rec)
		}
	}
	return s, p.explain(err)
}

// get finds a record by its own id, else the first of a decision or a call: the
// id that a refusal told the agent is a decision's.
func get(ctx context.Context, r *ledger.Reader, id string) (ledger.Record, error) {
	rec, err := r.Get(ctx, id)
	if !errors.Is(err, ledger.ErrNotFound) {
		return rec, err
	}
	for _, q := range []ledger.Query{{Call: id, Limit: 1}, {Decision: id, Limit: 1}} {
		found, lerr := r.List(ctx, q)
		if lerr != nil || len(found) > 0 {
			return append(found, rec)[0], lerr
		}
	}
	return rec, err
}

// values opens what the journal holds of a call.
func (p *places) values(ctx context.Context, call string) (_ []shownValue, err error) {
	// Loading would make what is missing: a reader makes no keys.
	if _, err := os.Stat(filepath.Join(p.keys, "journal.key")); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("there is no journal.key")
		}
		return nil, &failure{
			exitFailed, fmt.Errorf("the key folder %s can't be used: %w", p.keys, cause(err)),
			"name the key folder with --keys FOLDER",
		}
	}
	k, err := keys.LoadOrCreate(p.keys)
	if err != nil {
		return nil, err
	}
	st, err := store.Open(ctx, store.Options{Path: p.db})
	if errors.Is(err, store.ErrLocked) {
		return nil, &failure{exitFailed, fmt.Errorf("%s is in use", p.db), "stop the server first, or show the record without --values"}
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	j, err := journal.Open(ctx, st, journal.SingleKey(k.Journal()), journal.Options{})
	if err != nil {
		return nil, err
	}
	found, err := j.ByCall(ctx, call)
	out := make([]shownValue, 0, len(found))
	for _, v := range found {
		s := shownValue{Kind: v.Kind, Record: v.Name}
		if utf8.Valid(v.Data) {
			s.Text = string(v.Data)
		} else {
			s.Bytes = v.Data
		}
		out = append(out, s)
	}
	return out, err
}

// shownBody is what show reads of a record's body.
type shownBody struct {
	Grant      string      `json:"grant"`
	Turn       string      `json:"turn"`
	Effect     string      `json:"effect"`
	Outward    bool        `json:"outward"`
	Tainted    bool        `json:"tainted"`
	Digest     string      `json:"digest"`
	Policy     string      `json:"policy"`
	ArgNames   []string    `json:"arg_names"`
	Undeclared int         `json:"undeclared"`
	ArgBytes   *int        `json:"arg_bytes"`
	Reason     string      `json:"reason"`
	Degraded   bool        `json:"degraded"`
	Bytes      *int        `json:"bytes"`
	Trust      string      `json:"trust"`
	Isolation  string      `json:"isolation"`
	ElapsedUS  int64       `json:"elapsed_us"`
	Gates      []shownGate `json:"gates"`
	Marks      []string    `json:"marks"`
	Egress     *struct {
		Connections int64 `json:"connections"`
		Refused     int64 `json:"refused"`
		BytesOut    int64 `json:"bytes_out"`
		BytesIn     int64 `json:"bytes_in"`
	} `json:"egress"`
	Flags []struct {
		Code string   `json:"code"`
		Args []string `json:"args"`
	} `json:"flags"`
	Modified *struct {
		Digest string   `json:"digest"`
		Rules  []string `json:"rules"`
		Args   []string `json:"args"`
	} `json:"modified"`
}

type shownGate struct {
	Gate     string            `json:"gate"`
	State    string            `json:"state"`
	Outcome  string            `json:"outcome"`
	Code     string            `json:"code"`
	Score    *int              `json:"score"`
	Reason   string            `json:"reason"`
	Degraded bool              `json:"degraded"`
	Meta     map[string]string `json:"meta"`
	Evidence []struct {
		Signal string   `json:"signal"`
		Amount int      `json:"amount"`
		Args   []string `json:"args"`
	} `json:"evidence"`
	ElapsedUS int64 `json:"elapsed_us"`
}

func (s shownRecord) write(w io.Writer, colour bool) error {
	var b shownBody
	if len(s.Record.Body) > 0 {
		if err := json.Unmarshal(s.Record.Body, &b); err != nil {
			return fmt.Errorf("record %s holds a body that this version can't read; --json shows it", s.Record.ID)
		}
	}
	if err := s.head(b, colour).write(w); err != nil {
		return err
	}
	if err := section(w, "gates", b.table(colour)); err != nil {
		return err
	}
	others := &table{colour: colour}
	for _, r := range s.Related {
		others.add("  "+r.Time.Format(timeLayout), r.Kind, r.Outcome, r.Gate, r.Code, r.ID)
	}
	if err := section(w, "other records of this call", others); err != nil {
		return err
	}
	values := &table{}
	for _, v := range s.Values {
		text := v.Text
		if v.Bytes != nil {
			text = fmt.Sprintf("%q", v.Bytes)
		}
		values.add("  "+v.Kind, v.Record, text)
	}
	return section(w, "values", values)
}

func section(w io.Writer, name string, t *table) error {
	if len(t.rows) == 0 {
		return nil
	}
	if _, err := io.WriteString(w, "\n"+name+"\n"); err != nil {
		return err
	}
	return t.write(w)
}

// head is what the record says besides its gates; what it doesn't say is left
// out.
func (s shownRecord) head(b shownBody, colour bool) *table {
	r := s.Record
	t := &table{colour: colour}
	add := func(name, value string) {
		if value != "" {
			t.add(name, value)
		}
	}
	add("record", fmt.Sprintf("%s, number %d", r.ID, r.Index))
	add("time", r.Time.Format(timeLayout))
	add("kind", r.Kind)
	add("outcome", r.Outcome)
	add("gate", r.Gate)
	add("code", r.Code)
	add("reason", b.Reason)
	add("skill", r.Skill)
	add("effect", b.Effect)
	add("marks", b.marks())
	add("user", r.User)
	add("agent", r.Agent)
	add("conversation", r.Conversation)
	add("turn", b.Turn)
	add("grant", b.Grant)
	add("call", r.Call)
	add("decision", r.Decision)
	add("arguments", b.describeArguments())
	for _, f := range b.Flags {
		add("flag", strings.TrimSpace(f.Code+" "+strings.Join(f.Args, ", ")))
	}
	if m := b.Modified; m != nil {
		add("rewritten", strings.Join(m.Args, ", ")+" by "+strings.Join(m.Rules, ", "))
		add("proposed", m.Digest)
	}
	add("result marks", strings.Join(b.Marks, ", "))
	if b.Bytes != nil {
		add("result", strings.Trim(fmt.Sprintf("%d bytes, %s, %s", *b.Bytes, b.Trust, b.Isolation), ", "))
	}
	if e := b.Egress; e != nil {
		add("network", fmt.Sprintf("%d connections, %d refused, %d bytes out, %d in", e.Connections, e.Refused, e.BytesOut, e.BytesIn))
	}
	add("digest", b.Digest)
	add("policy", b.Policy)
	add("took", fmt.Sprintf("%d us", b.ElapsedUS))
	return t
}

// describeArguments tells the size and the names of the arguments; it is empty where the
// record holds no size.
func (b shownBody) describeArguments() string {
	if b.ArgBytes == nil {
		return ""
	}
	names := slices.Concat(b.ArgNames, []string{fmt.Sprintf("%d not declared", b.Undeclared)})
	return fmt.Sprintf("%d bytes: %s", *b.ArgBytes, strings.Join(names, ", "))
}

func (b shownBody) marks() string {
	var out []string
	for _, m := range []struct {
		set  bool
		word string
	}{{b.Outward, "outward"}, {b.Tainted, "tainted"}, {b.Degraded, "degraded"}} {
		if m.set {
			out = append(out, m.word)
		}
	}
	return strings.Join(out, ", ")
}

func (b shownBody) table(colour bool) *table {
	t := &table{colour: colour, right: map[int]bool{3: true}}
	for _, g := range b.Gates {
		score := ""
		if g.Score != nil {
			score = fmt.Sprintf("%.2f", float64(*g.Score)/100)
		}
		about := []string{}
		if g.State == "shadow" || g.State == "failed" {
			about = append(about, g.State)
		}
		if g.Degraded {
			about = append(about, "degraded")
		}
		if g.Reason != "" {
			about = append(about, g.Reason)
		}
		for _, e := range g.Evidence {
			about = append(about, strings.TrimSpace(fmt.Sprintf("%s %+d %s", e.Signal, e.Amount, strings.Join(e.Args, " "))))
		}
		for _, k := range slices.Sorted(maps.Keys(g.Meta)) {
			about = append(about, k+"="+g.Meta[k])
		}
		t.add("  "+g.Gate, g.Outcome, g.Code, score, strings.Join(about, "; "))
	}
	return t
}
