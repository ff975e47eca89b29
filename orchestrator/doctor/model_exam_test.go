package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// modelServer answers questions with a word, or with a call where there are tools,
// once hold lets them: it is told the model and whether a schema is asked for.
func modelServer(t *testing.T, hold func(ctx context.Context, model string, schema bool)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var q struct{ Model string }
		_ = json.Unmarshal(body, &q)
		w.Header().Set("Content-Type", "application/json")
		if bytes.Contains(body, []byte(`"tools":`)) {
			_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":%q,`+
				`"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, probeName)
			return
		}
		hold(r.Context(), q.Model, bytes.Contains(body, []byte("response_format")))
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"ready"},"finish_reason":"stop"}]}`)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// workers are models at an address that agents and orchestrator use.
func workers(url string, names ...string) string {
	text := off + "models:\n"
	for _, n := range names {
		text += fmt.Sprintf("  %s: {model: %s, base_url: %q, timeout: 20s}\n", n, n, url)
	}
	return text + "roles: {orchestrator: [" + strings.Join(names, ", ") + "], agent: " + names[0] + "}\n"
}

// Models that take their time do so side by side: here none answers before all
// were asked.
func TestModelsAreAskedAtOnce(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	var all sync.WaitGroup
	all.Add(len(names))
	url := modelServer(t, func(ctx context.Context, _ string, _ bool) {
		all.Done()
		met := make(chan struct{})
		go func() { all.Wait(); close(met) }()
		select {
		case <-met:
		case <-ctx.Done():
		}
	})
	r := Examine(t.Context(), write(t, workers(url, names...)), Options{})
	for _, n := range names {
		require.Equal(t, []string{"ok it answers"}, found(r, "model "+n))
	}
}

// Models of many servers are asked side by side too, and share nothing that is written
// meanwhile.
func TestModelsOfManyServers(t *testing.T) {
	text, names := off+"models:\n", []string(nil)
	for i := range 16 {
		names = append(names, fmt.Sprintf("m%d", i))
		text += fmt.Sprintf("  m%d: {model: m, base_url: \"http://127.0.0.1:%d/v1\", timeout: 20s}\n", i, i+1) // where no server listens
	}
	text += "roles: {orchestrator: [" + strings.Join(names, ", ") + "], agent: m0}\n"
	r := Examine(t.Context(), write(t, text), Options{})
	for _, n := range names {
		require.Len(t, found(r, "model "+n), 1, n)
	}
}

// Each finding is told as it is made, those of a model together and no later than a slower
// one's. The report has the models by their names.
func TestFindingsAreToldAsTheyCome(t *testing.T) {
	told := make(chan struct{})
	url := modelServer(t, func(ctx context.Context, model string, _ bool) {
		if model == "slow" {
			select {
			case <-told:
			case <-ctx.Done():
			}
		}
	})
	var came []string
	r := Examine(t.Context(), write(t, strings.Replace(workers(url, "slow", "swift"), "[slow, swift]", "[swift, slow]", 1)),
		Options{Found: func(f Finding) {
			came = append(came, f.Check+" "+f.Message)
			if f.Check == "clock" && strings.Contains(f.Message, "swift") {
				close(told)
			}
		}})
	require.Equal(t, []string{
		"model swift it answers", "clock model swift agrees within 2s", "tools swift it calls functions",
		"model slow it answers", "clock model slow agrees within 2s", "tools slow it calls functions",
	}, came[len(came)-6:])
	require.Len(t, r.Findings, len(came))
	require.Equal(t, "model slow", r.Findings[len(came)-6].Check)
	require.Equal(t, "configuration", strings.Fields(came[0])[0])
}

// Who gives up gets what is known by then, and is told what isn't. That a model was asked for
// nothing because of this is no finding about it.
func TestGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := make(chan struct{})
	url := modelServer(t, func(c context.Context, model string, _ bool) {
		if model == "slow" {
			close(asked)
			<-c.Done()
		}
	})
	r := Examine(ctx, write(t, workers(url, "slow", "swift")), Options{Found: func(f Finding) {
		if f.Check == "clock" {
			<-asked // the slow one too
			cancel()
		}
	}})
	require.False(t, r.OK)
	require.Equal(t, []string{"ok it answers"}, found(r, "model swift"))
	require.Empty(t, found(r, "model slow"))
	require.Equal(t, []string{"problem it was given up before its end, and not all was looked at: model slow"}, found(r, "examination"))
	require.Equal(t, 1, r.Problems)
	require.NotEmpty(t, found(r, "store"))

	r = Examine(ctx, write(t, workers(url, "slow")), Options{})
	require.Len(t, r.Findings, 1)
	require.Contains(t, r.Findings[0].Message,
		"permissions, approvals, skills, files, roots, store, ledger, pauses, limits, sandbox, snapshot, models")
}

// The models of one server have their turns for what takes it some work: side by
// side they would make each other slow.
func TestModelsOfOneServerHaveTurns(t *testing.T) {
	var now, most atomic.Int64
	both := make(chan struct{})
	var once sync.Once
	url := modelServer(t, func(ctx context.Context, _ string, schema bool) {
		if !schema {
			return
		}
		n := now.Add(1)
		defer now.Add(-1)
		most.Store(max(most.Load(), n))
		if n > 1 {
			once.Do(func() { close(both) })
		}
		wait, cancel := context.WithTimeout(ctx, 200*time.Millisecond) // for another to come
		defer cancel()
		select {
		case <-both:
		case <-wait.Done():
		}
	})
	text := fmt.Sprintf("models:\n  a: {model: a, base_url: %q}\n  b: {model: b, base_url: %q}\nroles: {sentinel: [a, b]}\nsentinel: "+
		"{retries: 0}\n", url, url)
	r := Examine(t.Context(), write(t, text), Options{})
	require.Equal(t, int64(1), most.Load())
	for _, check := range []string{"schema a", "schema b"} {
		require.Equal(t, []string{"problem json_schema is not obeyed: the answer has another shape"}, found(r, check))
	}
}

// Models that no role asks are named, and why.
func TestModelsWithoutARole(t *testing.T) {
	idle := "models: {one: {model: m, base_url: 'http://127.0.0.1:1'}, two: {model: m, base_url: 'http://127.0.0.1:1'}, used: {model: m, " +
		"base_url: 'http://127.0.0.1:1'}}\n"
	r := Examine(t.Context(), write(t, off+idle+"roles: {agent: used}\n"), Options{Offline: true})
	require.Equal(t, []string{"ok not asked, for no role names them: one, two", "ok not asked: used"}, found(r, "models"))
	r = Examine(t.Context(), write(t, off+idle), Options{Offline: true})
	require.Equal(t, []string{"ok no role names one", "ok not asked, for no role names them: one, two, used"}, found(r, "models"))
}

// A key is looked for where it was written, not by its letters: one from the
// environment may be a word that stands in any configuration.
func TestKeysInTheFile(t *testing.T) {
	t.Setenv("DOCTOR_TEST_KEY", "local")
	t.Setenv("DOCTOR_TEST_URL", "redis://ann:hush@127.0.0.1:1")
	model := func(key string) string {
		return off + "models: {local: {model: local, base_url: 'http://127.0.0.1:1', api_key: " + key + "}}\n"
	}
	redis := func(url string) string { return off + "limits: {store: {driver: redis, url: '" + url + "'}}\n" }
	for text, want := range map[string]string{
		model(`"${DOCTOR_TEST_KEY}"`):                              "",
		model(`"${DOCTOR_TEST_KEY:-sk-1}"`):                        "",
		model(`local`):                                             "models.local.api_key",
		model(`"${DOCTOR_TEST_NONE:-sk-1}"`):                       "models.local.api_key",
		redis("${DOCTOR_TEST_URL}"):                                "",
		redis("redis://ann:${DOCTOR_TEST_KEY}@127.0.0.1:1"):        "",
		redis("redis://ann:hush@127.0.0.1:1"):                      "limits.store.url",
		redis("redis://ann:hush@${DOCTOR_TEST_NONE:-127.0.0.1:1}"): "limits.store.url",
	} {
		file := write(t, text)
		require.NoError(t, os.Chmod(file, 0o644))
		got := found(Examine(t.Context(), file, Options{Offline: true}), "files")
		if want == "" {
			require.Equal(t, []string{"ok keys, database and socket are their owner's alone"}, got, text)
			continue
		}
		require.Equal(t, []string{"problem " + file + " has mode 0644 and a key stands in it: " + want}, got, text)
	}
}

// What does nothing in a configuration is told, and a table that lets through what an attacker
// can choose. While no model can be reached, reads may go on.
func TestSurprises(t *testing.T) {
	const models = "models: {m: {model: m, base_url: 'http://127.0.0.1:1'}}\nroles: {sentinel: m}\n"
	check := func(text, check string) []string {
		return found(Examine(t.Context(), write(t, text), Options{Offline: true}), check)
	}
	got := check(models+"sentinel: {unavailable: {read: allow}, unjudgeable: {read: allow, create: allow}}\n", "sentinel.unjudgeable")
	require.Equal(t, []string{"warning calls that go ahead without a judgement, which the writer of their arguments can bring about: read, " +
		"create"}, got)
	require.Empty(t, check(models+"sentinel: {unavailable: {read: allow, create: allow}}\n", "sentinel.unavailable"))
	got = check(models+"sentinel: {unavailable: {read: allow, outward: allow}}\n", "sentinel.unavailable")
	require.Equal(t, []string{"warning calls that go ahead without a judgement: outward"}, got)
	got = check(models+"sentinel: {cache_ttl: 0s, cache_size: 9}\n", "configuration")
	require.Len(t, got, 2)
	require.Regexp(t, `^warning .*vedette.yaml:6:39: sentinel.cache_size does nothing: `, got[1])
	got = check(models+"sentinel: {modes: {effect: {read: 'off', create: 'off', modify: 'off', irreversible: 'off', costs_money: 'off'}}}\n",
		"review")
	require.Equal(t, []string{"warning sentinel.modes turns the review off for every effect: the rules decide alone"}, got)
}
