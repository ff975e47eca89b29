package config_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

const policySource = `version: 1
models: {m: {model: m, base_url: "https://me:CANARY-1@h/v1?key=CANARY-2", api_key: "${KEY}"}}
roles: {sentinel: m}
judge: {threshold: 0.3, own_domains: ["${DOMAIN}"]}
approvals: {timeout: 90s}
permissions:
  - {skill: "post.send", then: ask, when: "args.to == '${VIP}'", reason: "a secret of AKIA0CANARY4EXAMPLE9"}
skills: {include: [s.yaml]}
`

const policySkills = `skills:
  - name: post.send
    description: Send.
    effect: irreversible
    parameters: {type: object, properties: {to: {type: string, default: "${VIP}"}}}
    run:
      http:
        url: "https://u:CANARY-5@post.test/send?token=CANARY-6"
        headers: {Authorization: "Bearer CANARY-7", Accept: "text/plain", X-Trace: "${SHORT}"}
  - name: box.run
    description: Run.
    effect: modify
    run:
      exec:
        argv: ["tool", "--token", "CANARY-8", "--mode=fast", "--password=CANARY-9"]
        set_env: {API_KEY: "CANARY-10", LANG: C}
`

func policyOf(t *testing.T, src, skills string, vars map[string]string) *config.Config {
	t.Helper()
	c, err := config.Parse("x.yaml", []byte(src), config.Options{Env: env(vars), Dir: "/nowhere",
		FS: fstest.MapFS{"s.yaml": {Data: []byte(skills)}}})
	require.NoError(t, err)
	return c
}

// What a digest stands for is told in the words of the files, and no secret is in it: neither of the
// environment, nor one that stands in a file.
func TestPolicyTextLeavesOutSecrets(t *testing.T) {
	vars := map[string]string{"KEY": "CANARY-3", "VIP": "CANARY-vip", "DOMAIN": "own.CANARY.test", "SHORT": "CNRY"}
	c := policyOf(t, policySource, policySkills, vars)
	text := c.PolicyText()
	require.Equal(t, c.Digest(), text.Digest())
	require.NotContains(t, string(text.Text), "CANARY")
	require.NotContains(t, string(text.Text), "CNRY")
	var doc struct {
		Configuration struct {
			Judge       map[string]any
			Approvals   map[string]any
			Permissions []map[string]any
			Models      map[string]map[string]any
		}
		Skills []struct {
			Name string
			Spec struct {
				Run struct{ Options map[string]any }
			}
		}
		LeftOut []string `json:"left_out"`
	}
	require.NoError(t, json.Unmarshal(text.Text, &doc))
	require.Equal(t, []any{"${DOMAIN}"}, doc.Configuration.Judge["own_domains"])
	require.InDelta(t, 0.3, doc.Configuration.Judge["threshold"], 0)
	require.Equal(t, "1m30s", doc.Configuration.Approvals["timeout"])
	require.Equal(t, "args.to == '${VIP}'", doc.Configuration.Permissions[0]["when"])
	require.Equal(t, "https://h/v1", doc.Configuration.Models["m"]["base_url"])
	require.Equal(t, "post.send", doc.Skills[1].Name)
	require.Equal(t, "text/plain", doc.Skills[1].Spec.Run.Options["headers"].(map[string]any)["Accept"])
	require.Equal(t, []any{"tool", "--token", "[redacted]", "--mode=fast", "--password=[redacted]"}, doc.Skills[0].Spec.Run.Options["argv"])
	for _, place := range []string{"judge.own_domains[0]", "permissions[0].when", "skills[post.send].run.http.headers.Authorization",
		"skills[post.send].parameters.properties.to.default", "skills[box.run].run.exec.argv[2]", "skills[box.run].run.exec.set_env.API_KEY"} {
		require.Contains(t, doc.LeftOut, place)
	}
}

// The digest covers what is told and what is left out: a secret that changes is another policy with the
// same text, and a byte of the text that changes has another digest.
func TestPolicyDigestCoversAll(t *testing.T) {
	vars := map[string]string{"KEY": "k", "VIP": "v", "DOMAIN": "d.test", "SHORT": "s"}
	one := policyOf(t, policySource, policySkills, vars).PolicyText()
	two := policyOf(t, policySource, strings.Replace(policySkills, "CANARY-7", "CANARY-X", 1), vars).PolicyText()
	require.NotEqual(t, one.Digest(), two.Digest())
	require.NotEqual(t, one.Rest, two.Rest)
	changed := config.PolicyText{Text: []byte(strings.Replace(string(one.Text), `"then":"ask"`, `"then":"asc"`, 1)), Rest: one.Rest}
	require.NotEqual(t, one.Digest(), changed.Digest())
	vars["VIP"] = "w"
	require.NotEqual(t, one.Digest(), policyOf(t, policySource, policySkills, vars).Digest(), "the environment decides too")
	require.NotEmpty(t, config.Default().PolicyText().Text)
	require.NotEmpty(t, config.Config{}.Digest())
}
