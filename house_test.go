// Package vedette holds no code: its test holds the house together.
package vedette

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/house"
)

const module = "github.com/vedette-dev/vedette"

// room is what a package may import of ours, and why nothing else.
type room struct {
	may []string
	why string
}

const (
	leaf     = "a leaf: it is used from everywhere, so it leans on nothing"
	gate     = "a gate judges a Call and knows no other gate; the checkpoint combines them"
	executor = "what runs a skill knows the skill and its warrant, never who allowed it"
	worker   = "an agent holds Specs and an Invoker, so it can't step round the gates or run a skill"
)

var judged = []string{"sentinel", "sentinel/touch", "skills"}

// codec is what the codecs of wire formats are made of.
var codec = []string{"sentinel/stream", "sentinel/stream/span", "sentinel/stream/sse"}

// requestReader is what reads requests of a wire format.
func requestReader(format string, besides ...string) []string {
	out := []string{"orchestrator/proxy/wire", "sentinel/stream", "sentinel/stream/span", "sentinel/stream/" + format}
	for _, b := range besides {
		out = append(out, "orchestrator/proxy/wire/"+b)
	}
	return out
}

// rooms are all packages of the module. One that isn't listed fails the test,
// so the drawing can't fall behind the code.
var rooms = map[string]room{
	"":        {nil, "it holds this test alone"},
	"clients": {nil, "it holds clients in other languages, and their tests"},
	"deploy":  {nil, "it holds files for operators, and their tests"},

	"internal/arrival":            {nil, "it carries requests of tests and knows no server"},
	"internal/owntest":            {nil, "it runs a test again and knows none of them"},
	"internal/testissuer":         {nil, "it is an issuer for tests and knows no client of it"},
	"internal/testprovider":       {nil, "it is a provider of models for tests and knows no proxy before it"},
	"internal/testclock":          {nil, "it is a clock for tests and knows nothing that goes by it"},
	"internal/watchdog":           {nil, "it runs test programs and knows none of them"},
	"limits/redisstore/redistest": {[]string{"internal/owntest"}, "it starts a server for tests and knows no store"},

	"internal/house":       {nil, "it measures Go files and knows no package of them"},
	"internal/house/table": {[]string{"internal/house"}, "it prints what is measured"},

	"internal/advice":    {nil, "errors of every room can carry a remedy, so it leans on none"},
	"internal/terminal":  {nil, "it makes texts safe to show and knows nothing of what they say"},
	"internal/textcut":   {nil, "it knows texts and not what is in them"},
	"internal/runes":     {nil, "it knows characters and nothing else"},
	"internal/plainjson": {nil, "it knows JSON and nothing else"},
	"internal/ids":       {nil, "it makes ids and knows nothing that they are of"},
	"internal/scrub":     {nil, "it reads texts and knows nothing of who wrote them"},
	"internal/backoff":   {nil, "it knows pauses and nothing of what is tried again"},
	"internal/notice":    {nil, "it reads templates and knows nothing that fills them"},
	"internal/userglob":  {nil, "it reads patterns of users' ids and knows no rule"},
	"internal/netzone":   {nil, "what reads an address and what dials it ask one function, so it leans on neither"},

	"skills/run/exec/egress": {[]string{"internal/netzone", "skills", "skills/run/exec/egress/listen"},
		"it serves sockets for a list of hosts and knows no program"},
	"skills/run/exec/egress/listen": {nil, "it runs in the sandbox's child before all else, so it needs the standard library and x/sys alone"},

	"skills":                  {[]string{"skills/leak", "skills/warrant"}, leaf},
	"skills/leak":             {nil, leaf},
	"skills/warrant":          {nil, "receivers of outgoing calls import it, so it needs the standard library alone"},
	"skills/internal/decode":  {[]string{"skills"}, executor},
	"skills/credential":       {[]string{"skills"}, executor},
	"skills/internal/runtest": {[]string{"skills", "skills/warrant"}, executor},
	"skills/run/exec": {[]string{"skills", "skills/internal/decode", "skills/run/exec/egress", "skills/run/exec/egress/listen",
		"skills/run/exec/isolate", "skills/run/exec/snapshot"}, executor},
	"skills/run/exec/isolate": {[]string{"skills/run/exec/egress/listen", "skills/run/exec/snapshot/mount"},
		"it runs while packages are initialised: what it imports, every sandboxed start waits for"},
	"skills/run/http":      {[]string{"internal/netzone", "skills", "skills/internal/decode", "skills/warrant"}, executor},
	"skills/run/template":  {[]string{"skills", "skills/internal/decode"}, executor},
	"skills/builtin/files": {[]string{"skills", "skills/internal/decode"}, executor},
	"skills/builtin/email": {[]string{"skills", "skills/internal/decode"}, executor},
	"limits":               {nil, leaf},
	"limits/storetest":     {[]string{"limits"}, leaf},
	"limits/redisstore":    {[]string{"limits"}, "it counts and knows nobody who is counted"},
	"config":               {[]string{"skills"}, "packages check their own options; config knows positions, not meanings"},
	"sentinel": {[]string{"sentinel/evidence", "sentinel/touch", "skills", "skills/warrant"},
		"it takes ledger, limits and approver as interfaces that it declares"},
	"sentinel/touch": {[]string{"sentinel/touch/bash", "sentinel/touch/host", "sentinel/touch/path", "sentinel/touch/programs",
		"skills"}, "it describes a call before there is one"},
	"sentinel/touch/bash": {[]string{"sentinel/touch/code", "sentinel/touch/host", "sentinel/touch/path", "sentinel/touch/programs"},
		"it reads command lines and knows no call"},
	"sentinel/touch/programs": {nil, "it holds what programs do and evaluates nothing"},
	"sentinel/touch/path":     {nil, "it reads the names of files and knows no call"},
	"sentinel/touch/code":     {nil, "it reads inline code in other languages and knows no shell"},
	"sentinel/touch/host": {[]string{"internal/netzone", "sentinel/touch/path"},
		"it reads the names of machines, whose escapes are those of paths"},
	"sentinel/evidence": {[]string{"sentinel/touch/host", "skills"},
		"checkpoint, judge and review may all ask it, so it knows values and no Call"},
	"sentinel/schema":     {judged, gate},
	"sentinel/scope":      {judged, gate},
	"sentinel/permission": {append([]string{"sentinel/flow"}, judged...), gate},
	"sentinel/guard":      {judged, gate},
	"sentinel/judge":      {append([]string{"sentinel/evidence", "sentinel/flow"}, judged...), gate},
	"sentinel/approval": {append([]string{"internal/terminal", "sentinel/journal", "sentinel/ledger", "sentinel/store"}, judged...),
		"it asks people and judges nothing itself; questions and answers are kept, on record, in one transaction"},
	"sentinel/label": {[]string{"sentinel", "sentinel/journal", "sentinel/ledger", "sentinel/store"},
		"it keeps what reviewers say of decisions, on record in the same transaction, and no decision hears of it"},
	"sentinel/review": {append([]string{"agents/llm", "sentinel/evidence", "sentinel/flow"}, judged...), gate},
	"sentinel/flow":   {judged, "it compares what a call sends with what came back, and judges nothing; several gates ask it"},
	"sentinel/habit":  {[]string{"sentinel", "skills"}, "it remembers approvals through an interface; what a habit does is the judge's"},
	"sentinel/stream": {[]string{"sentinel/stream/span", "sentinel/stream/sse"},
		"a pure state machine: it knows no gate, no call of the checkpoint, no wire format and no network"},
	"sentinel/stream/sse":       {nil, "it reads event streams and knows nothing of what is in them"},
	"sentinel/stream/span":      {nil, "it reads JSON as parts of a text and knows no format"},
	"sentinel/stream/chat":      {codec, "it reads and writes one wire format, decides nothing and knows no other format"},
	"sentinel/stream/messages":  {codec, "it reads and writes one wire format, decides nothing and knows no other format"},
	"sentinel/stream/responses": {codec, "it reads and writes one wire format, decides nothing and knows no other format"},
	"sentinel/intent": {[]string{"sentinel/intent/fold", "skills"},
		"it holds what a text became, and knows no text, parser or store"},
	"sentinel/intent/fold":   {nil, "it knows characters and nothing of what they say"},
	"sentinel/intent/detect": {[]string{"sentinel/intent/fold"}, "it reads a text by fixed rules: no model, no network, no store"},
	"sentinel/intent/grammar": {[]string{"sentinel/intent", "sentinel/intent/fold", "skills"},
		"it reads a text by an operator's words and knows no model"},
	"sentinel/intent/parse": {[]string{"agents/llm", "sentinel/intent", "sentinel/intent/grammar", "skills"},
		"it has parsers read a text, each apart; it starts no process itself and knows no vote"},
	"sentinel/intent/vote": {[]string{"sentinel/intent"}, "a pure function of what parsers said: it knows no parser and no policy"},
	"sentinel/intent/compare": {[]string{"sentinel/intent", "skills"},
		"a pure function of an intent and a policy: it knows no parser and no text"},
	"sentinel/intent/classify": {[]string{"agents/llm", "internal/outbound", "sentinel/intent/parse"},
		"it scores a text by one model or one address and knows no rule"},
	"sentinel/store":      {nil, leaf},
	"sentinel/store/keys": {nil, leaf},
	"sentinel/journal":    {[]string{"sentinel/store"}, "it keeps bytes and knows no Call"},
	"internal/outbound":   {nil, "it makes clients for addresses and knows nothing that they carry"},
	"orchestrator/anchors": {[]string{"internal/outbound", "sentinel/ledger"},
		"it carries signed heads to places and decides nothing"},
	"sentinel/ledger":            {[]string{"sentinel/store"}, "it keeps bytes and knows no Call"},
	"sentinel/ledger/ledgertest": {[]string{"sentinel/ledger", "sentinel/store"}, "it makes large ledgers for benchmarks"},
	"sentinel/pause": {[]string{"sentinel", "sentinel/ledger", "sentinel/store", "skills"},
		"it keeps what an operator stopped, on record"},
	"agents/otp":          {nil, "it could be a module of its own"},
	"agents/llm":          {nil, leaf},
	"agents/llm/scripted": {nil, leaf},
	"agents/loop": {[]string{"agents/llm", "agents/otp", "skills"},
		"it makes the calls of a model one by one and holds no desk: its owner, an agent or a turn, does"},
	"agents": {[]string{"agents/llm", "agents/loop", "agents/otp", "skills"}, worker},
	"orchestrator": {[]string{"agents", "agents/llm", "agents/loop", "agents/otp", "config", "orchestrator/admission", "orchestrator/assembly",
		"orchestrator/control", "orchestrator/history", "orchestrator/telemetry", "sentinel", "skills"},
		"gates and executors are put together in one place, assembly"},
	"orchestrator/idempotency": {[]string{"sentinel/journal", "sentinel/store"}, "it keeps answers and knows no operation"},
	"orchestrator/api": {[]string{"orchestrator", "orchestrator/access", "orchestrator/cases", "orchestrator/handover",
		"orchestrator/idempotency", "orchestrator/intake",
		"orchestrator/policies", "orchestrator/problem", "orchestrator/records/query", "orchestrator/records/story",
		"sentinel", "sentinel/approval", "sentinel/label", "sentinel/ledger", "sentinel/pause", "skills"},
		"it carries a caller's words to what answers them, decides nothing and builds no part"},
	"orchestrator/web": {[]string{"orchestrator", "orchestrator/access", "orchestrator/intake", "orchestrator/problem",
		"orchestrator/records/query", "orchestrator/records/story", "sentinel", "sentinel/approval", "sentinel/label", "sentinel/ledger"},
		"it shows people what others decide, carries their word and builds no part"},
	"orchestrator/assistants": {[]string{"config", "orchestrator", "orchestrator/access", "orchestrator/threads",
		"orchestrator/problem", "sentinel", "sentinel/approval", "skills"},
		"it carries what chat interfaces say to conversations and decides nothing"},
	"orchestrator/threads": {[]string{"sentinel", "sentinel/store"}, "it is rows that a purge erases too, without the door"},
	"orchestrator/proxy": {[]string{"config", "orchestrator/access", "orchestrator/handover", "orchestrator/problem", "orchestrator/proxy/*",
		"orchestrator/threads", "sentinel", "sentinel/stream", "skills"},
		"it carries requests and answers, and has each call decided where handed-over calls are: it knows no gate and no executor"},
	"orchestrator/proxy/formats": {[]string{"config", "orchestrator/proxy/wire", "orchestrator/proxy/wire/*"}, "it lists the formats"},
	"orchestrator/proxy/tools": {[]string{"config", "orchestrator/proxy/wire", "skills"},
		"it puts together what clients and the operator say of a tool, and decides nothing"},
	"orchestrator/proxy/report": {[]string{"internal/terminal", "orchestrator/records", "sentinel", "sentinel/journal", "sentinel/ledger",
		"skills"}, "it reads what is recorded, and decides nothing"},
	"orchestrator/proxy/wire": {[]string{"sentinel/stream", "sentinel/stream/span"}, "it says what a request holds, whatever its format"},
	"orchestrator/proxy/wire/openai": {[]string{"orchestrator/proxy/wire", "sentinel/stream/span"},
		"it is what two formats of one provider have in common"},
	"orchestrator/proxy/wire/chat":      {requestReader("chat", "openai"), "it reads requests of one format and knows no other"},
	"orchestrator/proxy/wire/messages":  {requestReader("messages"), "it reads requests of one format and knows no other"},
	"orchestrator/proxy/wire/responses": {requestReader("responses", "openai"), "it reads requests of one format and knows no other"},
	"orchestrator/problem":              {nil, "it tells callers what went wrong and knows nothing that goes wrong"},
	"orchestrator/access": {[]string{"orchestrator/problem", "sentinel/ledger", "sentinel/store", "sentinel/store/keys", "skills"},
		"it says who calls, by rows that are on record, and knows nothing of what is called"},
	"orchestrator/access/oidc": {[]string{"orchestrator/access"}, "it checks an issuer's tokens and knows no server"},
	"orchestrator/serve": {[]string{"config", "orchestrator", "orchestrator/access", "orchestrator/access/oidc", "orchestrator/problem",
		"orchestrator/telemetry", "sentinel", "sentinel/store", "skills"}, "it listens, and hands requests to handlers that it is given"},
	"orchestrator/intake": {[]string{"sentinel", "sentinel/intent", "sentinel/intent/compare", "sentinel/intent/detect",
		"sentinel/intent/parse", "sentinel/intent/vote", "sentinel/journal", "sentinel/ledger", "sentinel/store", "skills"},
		"it takes a text through stages that it is given, and knows no model and no configuration"},
	"orchestrator/intents": {[]string{"config", "orchestrator/intake", "sentinel/intent", "sentinel/intent/*", "skills"},
		"it builds what takes texts through the stages, and opens no store"},
	"orchestrator/control": {[]string{"orchestrator/access", "orchestrator/labelled", "orchestrator/records/story", "sentinel",
		"sentinel/approval", "sentinel/label", "sentinel/ledger", "sentinel/pause"},
		"it carries an operator's word to the process and knows no more of it"},
	"orchestrator/hook": {[]string{"internal/textcut", "skills"},
		"it asks a server over HTTP, as any other program would, and decides nothing"},
	"orchestrator/alerts": {[]string{"internal/backoff", "orchestrator/notify", "orchestrator/records/query", "sentinel", "sentinel/ledger",
		"sentinel/store", "skills"}, "it reads what is on record and tells people, and decides nothing"},
	"orchestrator/notify": {[]string{"internal/backoff", "internal/outbound", "internal/textcut", "sentinel/approval", "sentinel/store"},
		"it tells people that a question waits, and knows of a question what its list says"},
	"orchestrator/admission": {nil, "it counts who is at work and knows nothing of the work"},
	"orchestrator/vedettetest": {[]string{"agents/llm/scripted", "config", "orchestrator", "sentinel", "skills"},
		"it tests programs: what it holds of Vedette is what programs may hold"},
	"orchestrator/answers": {nil, "it reads the text of an answer and needs to know nothing else"},
	"orchestrator/history": {[]string{"sentinel/journal", "sentinel/ledger", "sentinel/store"},
		"it keeps items under their turn and knows nothing of what is in them; what it purges is on record in the same transaction"},
	"orchestrator/cases": {[]string{"internal/advice", "sentinel", "skills"}, "it reads lines and decides none of them"},
	"orchestrator/labelled": {[]string{"internal/advice", "sentinel", "sentinel/journal", "sentinel/label", "sentinel/ledger",
		"sentinel/store", "sentinel/store/keys", "skills"}, "it makes cases of what was recorded and decides none of them"},
	"orchestrator/eval": {[]string{"config", "internal/advice", "internal/terminal", "orchestrator/assembly", "orchestrator/cases",
		"orchestrator/control", "sentinel", "sentinel/judge", "skills"},
		"it decides cases with gates that run nothing, knows no model or store, and of the gates only how the judge sums"},
	"orchestrator/records/query": {[]string{"internal/terminal", "sentinel", "sentinel/approval", "sentinel/habit", "sentinel/label",
		"sentinel/ledger", "sentinel/pause", "sentinel/store", "skills"},
		"it reads records and the words that they may have, and opens no database"},
	"orchestrator/records/story": {[]string{"internal/terminal", "sentinel", "sentinel/journal", "sentinel/label", "sentinel/ledger",
		"sentinel/store"},
		"it tells what was recorded of a call; who may be told is its caller's to know"},
	"orchestrator/records/shown": {[]string{"internal/advice", "orchestrator/policies", "orchestrator/records", "orchestrator/records/story",
		"sentinel/journal", "sentinel/ledger", "sentinel/store", "sentinel/store/keys"}, "it opens a database for its owner, and no server"},
	"orchestrator/policies": {[]string{"config", "sentinel/store"}, "it keeps texts under their digests and applies none of them"},
	"orchestrator/records": {[]string{"internal/advice", "internal/terminal", "orchestrator/history",
		"orchestrator/records/query", "orchestrator/threads", "sentinel", "sentinel/approval", "sentinel/habit", "sentinel/journal",
		"sentinel/ledger",
		"sentinel/store", "sentinel/store/keys"},
		"it opens what a process wrote and needs no configuration and no gate"},
	"orchestrator/assembly": {[]string{"agents", "agents/llm", "config", "limits", "limits/fallback", "limits/redisstore",
		"orchestrator/access", "orchestrator/alerts", "orchestrator/anchors", "orchestrator/answers", "orchestrator/control",
		"orchestrator/handover", "orchestrator/intents", "orchestrator/labelled", "orchestrator/maintenance", "orchestrator/models",
		"orchestrator/notify", "orchestrator/policies", "orchestrator/records/story", "orchestrator/sink", "orchestrator/skillqueue",
		"orchestrator/threads",
		"sentinel", "sentinel/*", "skills", "skills/builtin/*", "skills/credential", "skills/leak", "skills/run/*", "skills/warrant"},
		"it builds and does nothing else: what runs lives beside its noun"},
	"orchestrator/telemetry": {[]string{"agents/llm", "agents/otp", "limits/redisstore", "orchestrator/assembly", "orchestrator/models",
		"sentinel", "sentinel/review", "skills", "skills/leak"}, "it is told what others do, and nobody is told anything by it"},
	"orchestrator/doctor": {[]string{"agents/llm", "config", "limits", "limits/redisstore", "orchestrator/assembly",
		"orchestrator/control", "sentinel/ledger", "sentinel/pause", "sentinel/review", "sentinel/store", "skills", "skills/run/exec"},
		"it looks at what others built and runs no call"},
	"orchestrator/policy": {[]string{"config", "orchestrator/assembly", "orchestrator/cases", "orchestrator/intake", "sentinel",
		"sentinel/intent/detect", "sentinel/judge", "sentinel/permission", "sentinel/touch", "skills"},
		"it explains and tries rules that others apply"},
	"orchestrator/sink": {[]string{"internal/terminal", "sentinel", "sentinel/journal", "sentinel/ledger"},
		"it copies records to files and decides nothing"},
	"orchestrator/replay": {[]string{"config", "internal/terminal", "orchestrator/assembly", "orchestrator/records",
		"orchestrator/records/query", "sentinel", "sentinel/journal", "sentinel/judge", "sentinel/ledger", "sentinel/review", "skills"},
		"it reads what is recorded and asks gates that run nothing"},
	"cmd/vedette": {[]string{"cmd/vedette/command", "orchestrator"}, "it calls command.Main"},
	"cmd/vedette/command": {[]string{"cmd/vedette/demo", "cmd/vedette/setup", "internal/terminal", "orchestrator", "orchestrator/cases",
		"orchestrator/control", "orchestrator/doctor", "orchestrator/eval", "orchestrator/policy", "orchestrator/records",
		"orchestrator/records/query", "orchestrator/records/shown", "orchestrator/replay", "orchestrator/serve", "sentinel/pause",
		"skills/run/exec"},
		"flags, one call and printing: it builds nothing and opens no store"},
	"cmd/vedette/handlers": {[]string{"config", "orchestrator", "orchestrator/access", "orchestrator/api", "orchestrator/assistants",
		"orchestrator/proxy", "orchestrator/records", "orchestrator/replay", "orchestrator/serve", "orchestrator/threads", "orchestrator/web"},
		"it puts handlers behind the server, and decides nothing"},
	"cmd/vedette/chat": {[]string{"config", "internal/terminal", "orchestrator", "sentinel/approval"},
		"it shows a person what a conversation tells, carries their word, and decides nothing"},
	"cmd/vedette/setup": {[]string{"cmd/vedette/chat", "cmd/vedette/handlers", "config", "internal/advice",
		"orchestrator/access", "orchestrator/assembly",
		"orchestrator/control", "orchestrator/hook", "orchestrator/proxy/report", "orchestrator/records", "sentinel/approval", "skills"},
		"it turns a configuration into what a command needs, and decides nothing"},
	"cmd/vedette/demo": {[]string{"agents", "agents/llm/scripted", "config", "orchestrator", "orchestrator/access", "sentinel",
		"sentinel/approval",
		"sentinel/ledger", "sentinel/store/keys"}, "wiring only"},
	"limits/fallback": {[]string{"limits"}, "it counts while the store is unreachable and knows no server's kind"},
	"sentinel/recorder": {[]string{"sentinel", "sentinel/habit", "sentinel/journal", "sentinel/ledger", "sentinel/store"},
		"a record's parts are written in one transaction; it decides nothing"},
	"sentinel/unfinished": {[]string{"sentinel", "sentinel/ledger", "sentinel/store", "skills"},
		"it ends calls through the checkpoint and runs none; what programs wrote it knows by id"},
	"sentinel/slots":        {[]string{"limits", "sentinel"}, "it puts limits into the checkpoint's words and judges no call"},
	"sentinel/review/purse": {[]string{"limits", "sentinel/review"}, "it pays for the review and asks no model"},
	"orchestrator/handover": {[]string{"orchestrator/cases", "sentinel", "skills", "skills/warrant"},
		"it hands over what the checkpoint allowed: it knows no gate, no executor and no store"},
	"orchestrator/models": {[]string{"agents/llm", "limits", "orchestrator/admission"},
		"it asks a model within bounds and knows no conversation"},
	"orchestrator/skillqueue":  {[]string{"orchestrator/admission", "sentinel"}, "it has calls wait for their turn and runs none"},
	"orchestrator/maintenance": {nil, "it says when things are forgotten; what they are is their owners' to know"},

	"skills/run/exec/snapshot": {[]string{"skills/run/exec/snapshot/mount"},
		"it lists and commits what a program wrote, and knows no skill, no call and no decision"},
	"skills/run/exec/snapshot/mount": {nil,
		"the child runs it before other packages are initialised, so it needs the standard library and system calls alone"},
}

// only says which packages may import a library whose types or traps must not
// spread.
var only = map[string][]string{
	"github.com/asynkron/protoactor-go": {"agents/otp"},
	"github.com/sashabaranov/go-openai": {"agents/llm"},
	"github.com/sony/gobreaker/v2":      {"sentinel/review", "sentinel/intent/classify", "sentinel/intent/parse"},
	"golang.org/x/time":                 {"orchestrator/access", "orchestrator/access/oidc", "sentinel/review"},
	"github.com/coreos/go-oidc/v3":      {"orchestrator/access/oidc"},
	"modernc.org/sqlite":                {"sentinel/store", "sentinel/ledger"}, // verify opens a file that no store has
	"cel.dev/cel-go":                    {"sentinel/permission", "sentinel/intent/compare"},
	"mvdan.cc/sh/v3":                    {"sentinel/touch/bash"},
	"github.com/redis/go-redis/v9":      {"limits/redisstore"},
	"github.com/aws/aws-sdk-go-v2":      {"orchestrator/anchors"},
	"github.com/prometheus":             {"orchestrator", "orchestrator/telemetry"}, // a library that anybody may count with counts values
	"go.opentelemetry.io/otel":          {"orchestrator", "orchestrator/telemetry"},
	"github.com/danielgtaylor/huma/v2":  {"orchestrator/api"},
	"github.com/fsnotify/fsnotify":      {"orchestrator/serve"},
	"github.com/parquet-go/parquet-go":  {"orchestrator/records/query"},
	"github.com/goccy/go-yaml":          {"config", "agents/llm/scripted"},
	"github.com/stretchr/testify":       {"internal/testissuer", "limits/storetest", "skills/internal/runtest"},
}

// everywhere are packages of one thing each that every other may use: they import none.
var everywhere = []string{"internal/backoff", "internal/ids", "internal/notice", "internal/plainjson", "internal/runes",
	"internal/scrub", "internal/textcut",
	"internal/userglob"}

func allowed(list []string, imp string) bool {
	return slices.ContainsFunc(list, func(m string) bool {
		d, wild := strings.CutSuffix(m, "/*")
		return imp == m || wild && strings.HasPrefix(imp, d+"/")
	})
}

// imports returns what each package imports outside of its tests.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(".", func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		if e.IsDir() && file != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "benchmarks" || name == "examples") {
			return filepath.SkipDir
		}
		if e.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		pkg := path.Clean(filepath.ToSlash(filepath.Dir(file)))
		if pkg == "." {
			pkg = ""
		}
		if strings.HasSuffix(name, "_test.go") {
			out[pkg] = append(out[pkg], []string{}...)
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			out[pkg] = append(out[pkg], p)
		}
		return nil
	})
	require.NoError(t, err)
	return out
}

// Imports run one way, and each forbidden edge has a reason.
func TestImports(t *testing.T) {
	all := imports(t)
	for pkg, list := range all {
		r, known := rooms[pkg]
		if !known {
			t.Errorf("package %q is in no room: say in rooms what it may import, and why", pkg)
			continue
		}
		for _, imp := range list {
			if own, ok := strings.CutPrefix(imp, module+"/"); ok && !allowed(r.may, own) && !slices.Contains(everywhere, own) {
				t.Errorf("%s must not import %s: %s", pkg, own, r.why)
			}
			if pkg == "skills/warrant" && strings.Contains(strings.Split(imp, "/")[0], ".") {
				t.Errorf("skills/warrant must not import %s: %s", imp, r.why)
			}
			for lib, where := range only {
				if (imp == lib || strings.HasPrefix(imp, lib+"/")) && !slices.Contains(where, pkg) {
					t.Errorf("%s must not import %s: only %v may", pkg, imp, where)
				}
			}
		}
	}
	for pkg := range rooms {
		if _, there := all[pkg]; !there && pkg != "" {
			t.Errorf("room %q is empty: take it off the list", pkg)
		}
	}
}

// The rules above bite: an agent that imported the checkpoint would be found.
func TestImportRulesBite(t *testing.T) {
	require.False(t, allowed(rooms["agents"].may, "sentinel"))
	require.False(t, allowed(rooms["agents"].may, "skills/run/exec"))
	require.False(t, allowed(rooms["sentinel"].may, "sentinel/guard"))
	require.False(t, allowed(rooms["sentinel/guard"].may, "sentinel/judge"))
	require.False(t, allowed(rooms["orchestrator"].may, "sentinel/guard"))
	require.True(t, allowed(rooms["orchestrator/assembly"].may, "sentinel/guard"))
	for _, pkg := range everywhere {
		require.Empty(t, rooms[pkg].may, "what every package may use uses none")
	}
}

// What the measures of package house may come to. Each is an aim, or what was reached
// where the aim is farther: none may grow.
const (
	mostFilesOfReceiver  = 4
	mostSingleWords      = 25 // percent of the unexported functions
	leastMedianName      = 10 // characters
	mostMedianParameters = 1
	mostFanOut           = 12
	mostBools            = 4
)

// wider are the types and packages that are beyond a bound, with how far. A type or a
// package that comes within its bound leaves the list.
var wider = map[string]int{
	"imports orchestrator/assembly": 50, // it puts everything together
	"imports cmd/vedette/command":   15, // each command calls another room
	"imports cmd/vedette/setup":     13, // each command needs another room's part
	"imports orchestrator/api":      17, // each group of operations carries to another room
	"bools sentinel.body":           5,  // fields of a stored record
}

// quoting are files that may hold a banned word: they quote it, or keep a name that
// programs use and a text that models read.
var quoting = []string{"internal/house/house.go", "sentinel/approval/approval.go", "sentinel/review/canary_case.go",
	"sentinel/judge/command.go"}

// The house stays as readable as it is: see package house for what is measured.
func TestHouseReads(t *testing.T) {
	m, err := house.Measure(os.DirFS("."), module)
	require.NoError(t, err)
	seen := map[string]bool{}
	bound := func(what string, n, most int) {
		if far, listed := wider[what]; listed {
			seen[what] = true
			most = far
		}
		if n > most {
			t.Errorf("%s: %d, and at most %d may be", what, n, most)
		}
	}
	for _, s := range m.Spreads {
		bound("receiver "+s.Package+"."+s.Type, len(s.Files), mostFilesOfReceiver)
	}
	for _, f := range m.FanOuts {
		bound("imports "+f.Package, len(f.Imports), mostFanOut)
	}
	for _, s := range m.Structs {
		bound("bools "+s.Package+"."+s.Type, s.Bools, mostBools)
	}
	bound("percent of single words", 100*len(m.SingleWords())/len(m.Functions), mostSingleWords)
	bound("median of parameters", m.MedianParameters(), mostMedianParameters)
	require.GreaterOrEqual(t, m.MedianName(), leastMedianName, "the median name of an unexported function")
	require.Empty(t, m.Wide, "lines of more than %d columns", house.MaxColumns)
	for _, b := range m.Banned {
		require.Contains(t, quoting, b.Pos.Filename, "%q hides who acts", b.Text)
	}
	for what := range wider {
		require.True(t, seen[what], "%s is gone: take it off the list", what)
	}
}
