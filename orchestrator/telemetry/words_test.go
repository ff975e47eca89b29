package telemetry

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
)

// intents has codes of its own, of texts that are no calls: the records of intents have them, and no decision.
var intents = filepath.Join("..", "..", "sentinel", "intent")

// noCodes look like codes and are keys of the configuration.
var noCodes = map[string]bool{"judge.threshold": true, "limits.store": true}

// The list of codes is whole: every code that stands in the sources of the
// gates, the limits and the checkpoint is on it, and no other.
func TestCodesAreWhole(t *testing.T) {
	gates := append(sentinel.GateNames(), "parse", "modify", "checkpoint", "stream")
	form := regexp.MustCompile(`^(` + strings.Join(gates, "|") + `)\.[a-z_]+$`)
	found := map[string]bool{}
	for _, dir := range []string{"sentinel", "limits", filepath.Join("orchestrator", "assembly")} {
		require.NoError(t, filepath.WalkDir(filepath.Join("..", "..", dir), func(file string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() && file == intents {
				return filepath.SkipDir
			}
			if err != nil || e.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					if s, err := strconv.Unquote(l.Value); err == nil && form.MatchString(s) && !noCodes[s] {
						found[s] = true
					}
				}
				return true
			})
			return nil
		}))
	}
	require.Greater(t, len(found), 60)
	for c := range found {
		require.True(t, codes[c], "%q is a code that metrics would count as other", c)
	}
	for _, c := range listBrokenCodes() {
		found[c] = true
	}
	for c := range codes {
		require.True(t, found[c], "%q is no code any more", c)
	}
}

// What is on no list is never repeated, whatever it looks like.
func TestWordsAreClosed(t *testing.T) {
	for _, w := range []words{codes, gates, effects, failures, kinds, modes, outcomes, origins, statuses, runCodes, records, breakers,
		canaries, refusals, agentStates, children, poolKinds, turnResults,
		proxyFormats, proxyResults} {
		require.NotEmpty(t, w)
		for _, s := range []string{"cAnArY", "guard.cAnArY", "server\n", "model_cAnArY", "\xff"} {
			require.Equal(t, other, w.pick(s))
		}
		for s := range w {
			require.Equal(t, s, w.pick(s))
		}
		require.Equal(t, none, w.pick(""))
	}
	n := sortNames([]string{"b.c", "a.b", "b.c"})
	require.Equal(t, "a.b", n.pick("a.b"))
	require.Equal(t, "b.c", n.pick("b.c"))
	require.Equal(t, unknown, n.pick("b.cc"))
	require.Equal(t, unknown, n.pick(""))
	for id, want := range map[string]string{
		"model-fast": "model", "conversation-cAnArY": "conversation", "agent-cAnArY": "agent", "agents": "agents", "cAnArY": other,
		"metrics": "metrics",
	} {
		require.Equal(t, want, childKind(id))
	}
}
