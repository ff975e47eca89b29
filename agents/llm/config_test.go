package llm_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vedette-dev/vedette/agents/llm"
)

// What a configuration may say at its edges, and that what is wrong is said.
func TestConfigurationAtItsEdges(t *testing.T) {
	fits := llm.Config{Name: "azAZ09_-", Model: "m", BaseURL: "https://x.test/v1"}
	for name, change := range map[string]func(*llm.Config){
		"as it is":             func(*llm.Config) {},
		"a tool, with tools":   func(c *llm.Config) { c.Schemaless, c.SupportsTools = llm.ViaTool, ptr(true) },
		"a tool, not said":     func(c *llm.Config) { c.Schemaless = llm.ViaTool },
		"an object, no tools":  func(c *llm.Config) { c.Schemaless, c.SupportsTools = llm.ViaJSONObject, ptr(false) },
		"nothing said of size": func(c *llm.Config) { c.Context, c.MaxResponse, c.Timeout = 0, 0, 0 },
	} {
		cfg := fits
		change(&cfg)
		_, err := llm.New(cfg, nil)
		require.NoError(t, err, name)
	}
	says := regexp.MustCompile(`^models(\.\S+)?: .{10}`)
	for name, change := range map[string]func(*llm.Config){
		"no name":         func(c *llm.Config) { c.Name = "" },
		"before a":        func(c *llm.Config) { c.Name = "`" },
		"after z":         func(c *llm.Config) { c.Name = "{" },
		"before A":        func(c *llm.Config) { c.Name = "@" },
		"after Z":         func(c *llm.Config) { c.Name = "[" },
		"before 0":        func(c *llm.Config) { c.Name = "/" },
		"after 9":         func(c *llm.Config) { c.Name = ":" },
		"a question mark": func(c *llm.Config) { c.BaseURL = "https://x.test/v1?" },
		"a query":         func(c *llm.Config) { c.BaseURL = "https://x.test/v1?a=b" },
		"a fragment":      func(c *llm.Config) { c.BaseURL = "https://x.test/v1#a" },
		"a password":      func(c *llm.Config) { c.BaseURL = "https://u:p@x.test/v1" },
		"no scheme":       func(c *llm.Config) { c.BaseURL = "x.test/v1" },
		"another scheme":  func(c *llm.Config) { c.BaseURL = "ftp://x.test/v1" },
		"no host":         func(c *llm.Config) { c.BaseURL = "https:///v1" },
		"no URL":          func(c *llm.Config) { c.BaseURL = "https://x.test/%zz" },
		"opaque":          func(c *llm.Config) { c.BaseURL = "https:x.test" },
		"a tool, none":    func(c *llm.Config) { c.Schemaless, c.SupportsTools = llm.ViaTool, ptr(false) },
	} {
		cfg := fits
		change(&cfg)
		_, err := llm.New(cfg, nil)
		var at *llm.PathError
		require.ErrorAs(t, err, &at, name)
		require.Regexp(t, says, at.Error(), name)
	}
	require.Contains(t, fits.String(), "https://x.test/v1")
	fits.BaseURL = "https://u:canary@x.test/v1?canary#canary"
	require.Contains(t, fits.String(), "https://x.test/v1")
	require.NotContains(t, fits.String(), "canary")
}
