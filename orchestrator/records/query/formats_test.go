package query

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// formatRecords are a denial, an allowed call, and a record of another kind with hostile text.
func formatRecords() []ledger.Record {
	at := time.Date(2026, 11, 24, 10, 0, 0, 123456000, time.UTC)
	body := `{"effect":"irreversible","outward":true,"tainted":true,"reason":"no","elapsed_us":4100,"policy":"sha256:1","gates":[` +
		`{"gate":"judge","state":"judged","outcome":"deny","score":12,"evidence":[{"signal":"unrelated","doubt":true}]}]}`
	return []ledger.Record{
		{Index: 7, Entry: ledger.Entry{ID: "r7", Time: at, Kind: "decision", Call: "k", Decision: "d", Conversation: "c", User: "ann",
			Agent: "helper", Skill: "email.send", Outcome: "deny", Gate: "judge", Code: "judge.low", Body: []byte(body)}},
		{Index: 8, Entry: ledger.Entry{ID: "r8", Time: at, Kind: "decision", Skill: "email.read", Outcome: "allow",
			Body: []byte(`{"effect":"read","gates":[]}`)}},
		{Index: 9, Entry: ledger.Entry{ID: "r9", Time: at, Kind: "purge", User: "=cmd|' \u202e"}},
	}
}

// An event has what its class requires, and what a SIEM filters by.
func TestOCSF(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(FormatOCSF, &out)
	require.NoError(t, err)
	list := formatRecords()
	for i := range list {
		require.NoError(t, w.Write(&list[i]))
	}
	require.NoError(t, w.Flush())
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3)
	for _, line := range lines {
		var e map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		for _, required := range []string{"activity_id", "actor", "api", "category_uid", "class_uid", "metadata", "severity_id",
			"src_endpoint", "time", "type_uid"} {
			require.Contains(t, e, required)
		}
		require.InDelta(t, 6003, e["class_uid"], 0)
		require.InDelta(t, e["class_uid"].(float64)*100+e["activity_id"].(float64), e["type_uid"], 0)
	}
	require.JSONEq(t, `{"activity_id":99,"category_uid":6,"category_name":"Application Activity","class_uid":6003,"class_name":"API Activity",
		"type_uid":600399,"time":1795514400123,"severity_id":3,"status_id":2,"status_code":"judge.low","status_detail":"no","duration":4,
		"action_id":2,"disposition_id":2,"policy":{"uid":"sha256:1"},
		"metadata":{"version":"1.3.0","uid":"r7","sequence":7,"log_name":"ledger","event_code":"decision","profiles":["security_control"],
		"product":{"name":"Vedette","vendor_name":"Vedette"}},
		"actor":{"user":{"uid":"ann"},"session":{"uid":"c"},"app_name":"helper"},
		"api":{"operation":"email.send","request":{"uid":"k"},"service":{"name":"vedette"}},"src_endpoint":{"name":"helper"},
		"unmapped":`+string(list[0].Body)+`}`, lines[0])
	require.Contains(t, lines[1], `"activity_id":2,`)
	require.Contains(t, lines[1], `"action_id":1,"disposition_id":1,`)
	require.NotContains(t, lines[2], "\u202e")
}

// What is written in columns is read back, with a row for each record.
func TestParquet(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(FormatParquet, &out)
	require.NoError(t, err)
	list := formatRecords()
	for i := range list {
		require.NoError(t, w.Write(&list[i]))
	}
	require.NoError(t, w.Flush())
	type row struct {
		Index      int64    `parquet:"index"`
		Time       int64    `parquet:"time,timestamp(microsecond)"`
		Skill      string   `parquet:"skill,dict"`
		Tainted    bool     `parquet:"tainted"`
		Signals    []string `parquet:"signals,list"`
		JudgeScore *float64 `parquet:"judge_score,optional"`
		Body       []byte   `parquet:"body,json"`
	}
	rows, err := parquet.Read[row](bytes.NewReader(out.Bytes()), int64(out.Len()))
	require.NoError(t, err)
	require.Len(t, rows, 3)
	require.Equal(t, list[0].Time.UnixMicro(), rows[0].Time)
	require.Equal(t, "email.send", rows[0].Skill)
	require.True(t, rows[0].Tainted)
	require.Equal(t, []string{"unrelated"}, rows[0].Signals)
	require.InDelta(t, 0.12, *rows[0].JudgeScore, 0)
	require.JSONEq(t, string(list[0].Body), string(rows[0].Body))
	require.Nil(t, rows[1].JudgeScore)
	require.Equal(t, int64(9), rows[2].Index)
}
