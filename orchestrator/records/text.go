package records

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/internal/terminal"
)

// TimeLayout is how times of records are written for people.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// recordBody is what WriteText reads of a record's body.
type recordBody struct {
	Grant      string       `json:"grant"`
	Turn       string       `json:"turn"`
	Effect     string       `json:"effect"`
	Outward    bool         `json:"outward"`
	Tainted    bool         `json:"tainted"`
	Digest     string       `json:"digest"`
	Policy     string       `json:"policy"`
	ArgNames   []string     `json:"arg_names"`
	Undeclared int          `json:"undeclared"`
	ArgBytes   *int         `json:"arg_bytes"`
	Reason     string       `json:"reason"`
	Degraded   bool         `json:"degraded"`
	Bytes      *int         `json:"bytes"`
	Trust      string       `json:"trust"`
	Isolation  string       `json:"isolation"`
	ElapsedUS  int64        `json:"elapsed_us"`
	Gates      []recordGate `json:"gates"`
	Marks      []string     `json:"marks"`
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

type recordGate struct {
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
		Doubt  bool     `json:"doubt"`
	} `json:"evidence"`
	Doubt *struct {
		State string `json:"state"`
	} `json:"doubt"`
	ElapsedUS int64 `json:"elapsed_us"`
}

// WriteText writes the record for people.
func (f Found) WriteText(w io.Writer, colour bool) error {
	var b recordBody
	if len(f.Record.Body) > 0 {
		if err := json.Unmarshal(f.Record.Body, &b); err != nil {
			return fmt.Errorf("record %s holds a body that this version can't read; --json shows it", f.Record.ID)
		}
	}
	if err := f.headTable(b, colour).Write(w); err != nil {
		return err
	}
	if err := terminal.WriteSection(w, "gates", b.gatesTable(colour)); err != nil {
		return err
	}
	others := &terminal.Table{Colour: colour}
	for _, r := range f.Related {
		others.Add("  "+r.Time.Format(TimeLayout), r.Kind, r.Outcome, r.Gate, r.Code, r.ID)
	}
	return terminal.WriteSection(w, "other records of this call", others)
}

// headTable is what the record says besides its gates; what it doesn't say is left
// out.
func (f Found) headTable(b recordBody, colour bool) *terminal.Table {
	r := f.Record
	t := &terminal.Table{Colour: colour}
	add := func(name, value string) {
		if value != "" {
			t.Add(name, value)
		}
	}
	add("record", fmt.Sprintf("%s, number %d", r.ID, r.Index))
	add("time", r.Time.Format(TimeLayout))
	add("kind", r.Kind)
	add("outcome", r.Outcome)
	add("gate", r.Gate)
	add("code", r.Code)
	add("reason", b.Reason)
	add("skill", r.Skill)
	add("effect", b.Effect)
	add("marks", b.listMarks())
	add("user", r.User)
	add("agent", r.Agent)
	add("conversation", r.Conversation)
	add("turn", b.Turn)
	add("grant", b.Grant)
	add("call", r.Call)
	add("decision", r.Decision)
	add("arguments", b.describeArguments())
	for _, flag := range b.Flags {
		add("flag", strings.TrimSpace(flag.Code+" "+strings.Join(flag.Args, ", ")))
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
func (b recordBody) describeArguments() string {
	if b.ArgBytes == nil {
		return ""
	}
	names := slices.Concat(b.ArgNames, []string{fmt.Sprintf("%d not declared", b.Undeclared)})
	return fmt.Sprintf("%d bytes: %s", *b.ArgBytes, strings.Join(names, ", "))
}

func (b recordBody) listMarks() string {
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

func (b recordBody) gatesTable(colour bool) *terminal.Table {
	t := &terminal.Table{Colour: colour, Right: map[int]bool{3: true}}
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
			line := strings.TrimSpace(fmt.Sprintf("%s %+d %s", e.Signal, e.Amount, strings.Join(e.Args, " ")))
			switch {
			case e.Doubt && g.Doubt != nil:
				line = "doubt (" + g.Doubt.State + ") " + line
			case e.Doubt:
				line = "doubt " + line
			}
			about = append(about, line)
		}
		for _, k := range slices.Sorted(maps.Keys(g.Meta)) {
			about = append(about, k+"="+g.Meta[k])
		}
		t.Add("  "+g.Gate, g.Outcome, g.Code, score, strings.Join(about, "; "))
	}
	return t
}

// WriteText writes what was verified for people.
func (v Verification) WriteText(w io.Writer) error {
	r := v.Report
	t := terminal.Table{}
	span := fmt.Sprint(r.Records)
	if r.Records > 0 {
		span += fmt.Sprintf(" (0 to %d), %s to %s", r.Records-1, r.First.Format(TimeLayout), r.Last.Format(TimeLayout))
	}
	t.Add("records", span)
	t.Add("proved", fmt.Sprintf("%d by %d signed heads, %d signatures checked", r.Proved, r.Heads, r.Signatures))
	if r.AgentSigned > 0 {
		t.Add("agents", fmt.Sprintf("%d records are signed by keys of their agents", r.AgentSigned))
	}
	if r.Newest != nil {
		t.Add("newest head", fmt.Sprintf("%d records, %s", r.Newest.Size, r.Newest.Time.UTC().Format(TimeLayout)))
		t.Add("root", r.Newest.Root.String())
	}
	t.Add("external heads", fmt.Sprintf("%d, rollback excluded for %d records", r.External, r.RollbackExcluded))
	for _, p := range r.Problems {
		t.Add("problem", p.String())
	}
	for _, c := range r.Caveats {
		t.Add("caveat", c)
	}
	t.Add("result", map[bool]string{true: "everything agrees", false: "TAMPERED"}[r.OK()])
	return t.Write(w)
}
