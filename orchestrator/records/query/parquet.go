package query

import (
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// parquetRow is a record in columns: those of CSV with their own types, and the record's body whole.
type parquetRow struct {
	Index        int64    `parquet:"index"`
	Time         int64    `parquet:"time,timestamp(microsecond)"`
	ID           string   `parquet:"id"`
	Kind         string   `parquet:"kind,dict"`
	Outcome      string   `parquet:"outcome,dict"`
	Gate         string   `parquet:"gate,dict"`
	Code         string   `parquet:"code,dict"`
	Skill        string   `parquet:"skill,dict"`
	Effect       string   `parquet:"effect,dict"`
	Agent        string   `parquet:"agent,dict"`
	User         string   `parquet:"user,dict"`
	Conversation string   `parquet:"conversation,dict"`
	Call         string   `parquet:"call"`
	Decision     string   `parquet:"decision"`
	Tainted      bool     `parquet:"tainted"`
	Outward      bool     `parquet:"outward"`
	Degraded     bool     `parquet:"degraded"`
	Approver     string   `parquet:"approver,dict"`
	Via          string   `parquet:"via,dict"`
	Reason       string   `parquet:"reason,dict"`
	Signals      []string `parquet:"signals,list"`
	Doubts       []string `parquet:"doubts,list"`
	JudgeScore   *float64 `parquet:"judge_score,optional"`
	ElapsedUS    *int64   `parquet:"elapsed_us,optional"`
	Policy       string   `parquet:"policy,dict"`
	Body         []byte   `parquet:"body,json,zstd"`
}

func newParquetRow(r *ledger.Record) parquetRow {
	b := openBody(r)
	row := parquetRow{
		Index: r.Index, Time: r.Time.UnixMicro(), ID: r.ID, Kind: r.Kind, Outcome: r.Outcome, Gate: r.Gate, Code: r.Code, Skill: r.Skill,
		Effect: b.Effect, Agent: r.Agent, User: r.User, Conversation: r.Conversation, Call: r.Call, Decision: r.Decision,
		Tainted: b.Tainted, Outward: b.Outward, Degraded: b.Degraded, Approver: b.Approver, Via: b.Via, Reason: b.Reason,
		Signals: b.listSignals(false), Doubts: b.listSignals(true), ElapsedUS: b.ElapsedUS, Policy: b.Policy, Body: r.Body,
	}
	for _, g := range b.Gates {
		if g.Gate == "judge" && g.Score != nil {
			score := float64(*g.Score) / 100
			row.JudgeScore = &score
		}
	}
	return row
}

// rowsInGroup is how many rows a group of columns has: what is held in memory at a time.
const rowsInGroup = 50_000

// parquetWriter is the Writer of FormatParquet. Its Flush writes the file's end: nothing comes after it.
type parquetWriter struct {
	w    *parquet.GenericWriter[parquetRow]
	rows int
}

func newParquetWriter(w io.Writer) *parquetWriter {
	return &parquetWriter{w: parquet.NewGenericWriter[parquetRow](w, parquet.CreatedBy("vedette", "1", ""))}
}

func (p *parquetWriter) Write(r *ledger.Record) error {
	if _, err := p.w.Write([]parquetRow{newParquetRow(r)}); err != nil {
		return err
	}
	if p.rows++; p.rows%rowsInGroup == 0 {
		return p.w.Flush()
	}
	return nil
}

func (p *parquetWriter) Flush() error { return p.w.Close() }
