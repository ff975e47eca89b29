package assembly_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/policies"
)

// What each decision's policy stands for is kept from the start and from each reload on, under the digest
// that the record has. A policy that was refused is not kept.
func TestPoliciesAreKept(t *testing.T) {
	o := openOffice(t, "")
	o.call("fs.read", `{"path":"a"}`)
	_, err := o.change("permissions: [{skill: fs.read, then: deny, id: closed}]\n")
	require.NoError(t, err)
	o.call("fs.read", `{"path":"a"}`)
	_, err = o.change("permissions_default: allow\n")
	require.ErrorAs(t, err, new(*assembly.RefusedReload))

	digests := o.policies()
	require.Len(t, digests, 2)
	var found []policies.Policy
	for _, digest := range digests {
		p, err := policies.Find(t.Context(), o.Store.Reader(), digest)
		require.NoError(t, err)
		require.NoError(t, p.Verify())
		found = append(found, p)
	}
	changes := policies.Diff(found[0], found[1])
	require.Len(t, changes, 1)
	require.Equal(t, "permissions", changes[0].Name)
	require.Contains(t, changes[0].Lines, `+     "id": "closed",`)
	list, err := policies.List(t.Context(), o.Store.Reader())
	require.NoError(t, err)
	require.Len(t, list, 2)
}

// No secret of a configuration, and none of the environment, gets into the database with a policy.
func TestKeptPoliciesHoldNoSecrets(t *testing.T) {
	t.Setenv("STORY_KEY", "CANARY-of-the-environment")
	o := openOffice(t, "")
	dir := filepath.Dir(o.file)
	o.mail += `
  - name: post.send
    description: Send.
    effect: irreversible
    run: {http: {url: "https://post.test/send", headers: {Authorization: "Bearer ${STORY_KEY}", X-Api-Key: "CANARY-literal"}}}
`
	cfg := o.read("")
	require.NoError(t, o.Close())
	p, err := assembly.Build(t.Context(), cfg, assembly.Options{})
	require.NoError(t, err)
	o.Parts = p
	kept, err := policies.Find(t.Context(), p.Store.Reader(), cfg.Digest())
	require.NoError(t, err)
	require.NoError(t, kept.Verify())
	raw, err := json.Marshal(kept)
	require.NoError(t, err)
	require.Contains(t, string(raw), "https://post.test/send")
	require.NotContains(t, string(raw), "CANARY")
	files, err := filepath.Glob(filepath.Join(dir, "vedette.db*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NotContains(t, string(b), "CANARY", name)
	}
}
