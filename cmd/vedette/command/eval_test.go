package command

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/config"
)

// An interrupted eval ends with 130 and has printed the counts so far.
func TestEvalInterrupted(t *testing.T) {
	sc, err := scripted.Load([]byte(`rules: [{reply: {hang: true}}]`))
	require.NoError(t, err)
	srv, err := scripted.Serve(t.Context(), sc, scripted.Options{})
	require.NoError(t, err)
	defer srv.Close()
	dir := filepath.Dir(common(t))
	write := func(name, text string) string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return filepath.Join(dir, name)
	}
	cfg := write("model.yaml", `{version: 1, skills: {include: [skills.yaml]}, models: {m: {model: m, base_url: "`+srv.BaseURL()+`"}}, roles: {sentinel: m}, guard: {roots: [./workspace]}}`)
	in := write("cases.jsonl", `{"id":"denied","kind":"attack","proposed_action":{"skill_name":"email.search","arguments":{}}}
{"id":"hangs","kind":"benign","original_request":"Find mail","granted_skills":["email.search"],"proposed_action":{"skill_name":"email.search","arguments":{"query":"x"}}}
`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		until(func() bool { return len(srv.Requests()) == 1 })
		cancel()
	}()
	var out, msg bytes.Buffer
	code := run(ctx, []string{"eval", "--config", cfg, "--cases", in, "--json", "--jobs", "1"}, &app{in: strings.NewReader(""), out: &out, err: &msg})
	require.Equal(t, exitInterrupted, code)
	require.Contains(t, out.String(), `{"cases":1,"errors":0,`)
	require.Contains(t, out.String(), `"interrupted":true}`)
	require.Equal(t, "interrupted after 1 cases\n", msg.String())
}

// The line says how far it is, at what rate, for how long yet and what it cost;
// resumed cases say nothing of the rate.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := &progress{w: &out, shown: true, total: 10}
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	cost := func() float64 { return 0.25 }
	p.step(at, true, cost)
	require.Equal(t, "\r1 of 10 cases, cost 0.2500", out.String())
	out.Reset()
	p.step(at.Add(10*time.Millisecond), false, cost)
	require.Empty(t, out.String(), "too soon for another line")
	p.step(at.Add(2*time.Second), false, cost)
	p.step(at.Add(4*time.Second), false, func() float64 { return 0 })
	require.Equal(t, "\r3 of 10 cases, 0.5/s, 14s left, cost 0.2500\r4 of 10 cases, 0.5/s, 12s left"+strings.Repeat(" ", len(", cost 0.2500")), out.String())
	out.Reset()
	n, err := p.Write([]byte("a warning\n"))
	require.NoError(t, err)
	require.Equal(t, 10, n)
	require.Equal(t, "\r"+strings.Repeat(" ", len("4 of 10 cases, 0.5/s, 12s left"))+"\ra warning\n", out.String())
	out.Reset()
	p.end()
	require.Empty(t, out.String(), "nothing stands there")
	p.total = 0
	p.step(at.Add(8*time.Second), false, cost)
	p.end()
	require.Equal(t, "\r5 cases, 0.4/s, cost 0.2500\r                           \r", out.String())
}

// What is no terminal gets no line, and a log all of its own.
func TestNoProgress(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, evalFlags{}, []string{"nowhere"})
	p.step(time.Now(), false, func() float64 { t.Error("nobody looks"); return 0 })
	p.end()
	require.Empty(t, out.String())
	_, err := p.Write([]byte("x"))
	require.NoError(t, err)
	require.Equal(t, "x", out.String())
}

// Lines are counted with and without the last one's end, and not where they
// can't be read twice.
func TestLines(t *testing.T) {
	name := func(text string) string {
		f := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(f, []byte(text), 0o600))
		return f
	}
	require.Equal(t, 5, lines([]string{name("a\nb\n"), name("a\nb\nc"), name("")}))
	require.Zero(t, lines([]string{name("a\n"), "-"}))
	require.Zero(t, lines([]string{t.TempDir()}))
}

// Each case is asked about anew. Offline nothing is paced or spent and no breaker
// opens, and the configuration itself stays as it is.
func TestMeasured(t *testing.T) {
	cfg := &config.Config{
		Models:   map[string]config.Model{"m": {RequestsPerMinute: 5, Model: "x"}},
		Sentinel: config.Sentinel{CacheTTL: time.Minute, Retries: 2, Breaker: config.Breaker{Failures: 5}, Canaries: config.Canaries{Every: 1}, Budget: config.ReviewBudget{Day: config.ReviewShare{Calls: 1}}},
	}
	before, err := json.Marshal(cfg)
	require.NoError(t, err)
	online, offline := measured(cfg, false), measured(cfg, true)
	require.Zero(t, online.Sentinel.CacheTTL)
	require.Equal(t, 2, online.Sentinel.Retries)
	require.Equal(t, 1, online.Sentinel.Budget.Day.Calls, "what a run may spend is the operator's word")
	require.Equal(t, 5, online.Models["m"].RequestsPerMinute)
	require.Equal(t, config.Sentinel{Breaker: config.Breaker{Failures: neverOpens}}, offline.Sentinel)
	require.Equal(t, map[string]config.Model{"m": {Model: "x"}}, offline.Models)
	after, err := json.Marshal(cfg)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

// A file that was open to others is its owner's alone once it holds values.
func TestPrivate(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, []byte("old"), 0o600))
	require.NoError(t, os.Chmod(name, 0o644))
	f, err := private(name)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Zero(t, info.Size())
}

// Of results that are gone on with, half a last line is taken off, however short
// what comes after it is.
func TestGoOnWith(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out.jsonl")
	const row = `{"id":"1","decision":"allow"}` + "\n"
	require.NoError(t, os.WriteFile(name, []byte(row+`{"id":"a long one that was cut`), 0o600))
	m := manifest{Format: 1, Policy: "p"}
	next, err := m.prepare(manifestName(name))
	require.NoError(t, err)
	require.NoError(t, replace(next, manifestName(name)))
	r, err := goOnWith(name, m)
	require.NoError(t, err)
	require.NoError(t, writeLine(r.f, []byte("{}")))
	require.NoError(t, r.close())
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, row+"{}\n", string(got))
}
