package config_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

const ownPrompt = "version: 1\nsentinel: {prompt: texts/criteria.txt}\n"

// The loader reads the review's own criteria from beside the configuration, whole
// and as they are. The file is among those that the guard protects.
func TestPromptIsRead(t *testing.T) {
	const text = "Approve ${HOME}.\r\nReject 'ü'.\n"
	c, dir, err := load(t, map[string]string{"vedette.yaml": ownPrompt, "texts/criteria.txt": "\ufeff" + text}, config.Options{})
	require.NoError(t, err)
	require.Equal(t, text, c.Sentinel.PromptText)
	require.Equal(t, filepath.Join(dir, "texts", "criteria.txt"), c.Sentinel.Prompt)
	require.Equal(t, []string{filepath.Join(dir, "vedette.yaml"), c.Sentinel.Prompt}, c.Files)

	c, err = config.Parse("conf/vedette.yaml", []byte(ownPrompt),
		config.Options{Env: env(nil), FS: fstest.MapFS{"conf/texts/criteria.txt": {Data: []byte(text)}}})
	require.NoError(t, err)
	require.Equal(t, text, c.Sentinel.PromptText)
	require.Empty(t, c.Files)

	_, err = config.Parse("vedette.yaml", []byte(ownPrompt), config.Options{Env: env(nil)})
	require.EqualError(t, err, `vedette.yaml:2:20: sentinel.prompt "texts/criteria.txt": there is no file system to read it from`)
}

// The digest of a configuration is that of the prompt's words, wherever they are
// kept.
func TestDigestHoldsThePrompt(t *testing.T) {
	digest := func(name, text string) string {
		c, _, err := load(t, map[string]string{"vedette.yaml": "version: 1\nsentinel: {prompt: " + name + "}\n", name: text}, config.Options{})
		require.NoError(t, err)
		return c.Digest()
	}
	none, _, err := load(t, map[string]string{"vedette.yaml": "version: 1\n"}, config.Options{})
	require.NoError(t, err)
	require.Equal(t, digest("a.txt", "one"), digest("b.txt", "one"))
	require.NotEqual(t, digest("a.txt", "one"), digest("a.txt", "two"))
	require.NotEqual(t, none.Digest(), digest("a.txt", "one"))
}

// A prompt that can't be one is refused at its place.
func TestPromptMistakes(t *testing.T) {
	at := "vedette.yaml:2:20: sentinel.prompt \"texts/criteria.txt\": "
	for name, tc := range map[string]struct{ text, want string }{
		"empty":     {"", at + "the file holds no text"},
		"blank":     {" \n\t\n", at + "the file holds no text"},
		"mark only": {"\ufeff", at + "the file holds no text"},
		"too long":  {strings.Repeat("a", config.MaxPrompt+1), at + "the file has more than 16384 bytes"},
		"bytes":     {"one\ntwo \xff", "texts/criteria.txt:2:5: the file must be UTF-8 text without control characters"},
		"zero width": {"one\ntwo\u200bthree",
			"texts/criteria.txt:2:4: the prompt holds U+200B here, which people do not see and the model reads; remove it"},
		"direction": {"\u202ereject",
			"texts/criteria.txt:1:1: the prompt holds U+202E here, which people do not see and the model reads; remove it"},
		"tags": {"ü \U000e0041\U000e0042",
			"texts/criteria.txt:1:3: the prompt holds U+E0041 here, which people do not see and the model reads, and 1 more follow; remove them"},
		"isolate": {"a\u2066b",
			"texts/criteria.txt:1:2: the prompt holds U+2066 here, which people do not see and the model reads; remove it"},
		"inner mark": {"a\ufeff",
			"texts/criteria.txt:1:2: the prompt holds U+FEFF here, which people do not see and the model reads; remove it"},
		"selectors": {"✔\ufe0f\ufe0f",
			"texts/criteria.txt:1:3: the prompt holds U+FE0F here, which people do not see and the model reads; remove it"},
		"bytes of selectors": {"✔\U000e0101",
			"texts/criteria.txt:1:2: the prompt holds U+E0101 here, which people do not see and the model reads; remove it"},
		"joiner": {"a\u200db",
			"texts/criteria.txt:1:2: the prompt holds U+200D here, which people do not see and the model reads; remove it"},
		"line": {"a\u2028b",
			"texts/criteria.txt:1:2: the prompt holds U+2028 here, which people do not see and the model reads; remove it"},
		"control": {"a\u0085b",
			"texts/criteria.txt:1:2: the prompt holds U+0085 here, which people do not see and the model reads; remove it"},
		"filler":     {"\u3164", "texts/criteria.txt:1:1: the prompt holds U+3164 here, which people do not see and the model reads; remove it"},
		"blank dots": {"\u2800", "texts/criteria.txt:1:1: the prompt holds U+2800 here, which people do not see and the model reads; remove it"},
		"escape":     {"\x1b[2J", "texts/criteria.txt:1:1: the file must be UTF-8 text without control characters"},
	} {
		t.Run(name, func(t *testing.T) {
			_, dir, err := load(t, map[string]string{"vedette.yaml": ownPrompt, "texts/criteria.txt": tc.text}, config.Options{})
			require.Equal(t, []string{tc.want}, mistakes(t, dir, err))
		})
	}
	_, _, err := load(t, map[string]string{"vedette.yaml": ownPrompt, "texts/criteria.txt": strings.Repeat("a", config.MaxPrompt)},
		config.Options{})
	require.NoError(t, err)
	for text, want := range map[string]string{
		"sentinel: {prompt: none.txt}": `vedette.yaml:2:20: sentinel.prompt "none.txt": the file does not exist`,
		"sentinel: {prompt: '${P}'}":   `vedette.yaml:2:20: sentinel.prompt [redacted]: the file does not exist`,
		"sentinel: {prompt: .}": `vedette.yaml:2:20: sentinel.prompt ".": the file can't be read: is not a ` +
			`regular file`,
		"sentinel: {prompt: ''}": `vedette.yaml:2:20: sentinel.prompt is empty; write a value or remove the key`,
		"sentinel: {prompt: w/p.txt}\nguard: {roots: [w]}": `vedette.yaml:3:17: guard.roots[0] contains the review's prompt (w/p.txt); ` +
			`give agents a folder of their own`,
		"sentinel: {prompt: vedette.yaml}\nguard: {roots: [w]}": "",
	} {
		_, dir, err := load(t, map[string]string{"vedette.yaml": "version: 1\n" + text + "\n", "w/p.txt": "words"},
			config.Options{Env: env(map[string]string{"P": "/nowhere/at/all"})})
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, []string{want}, mistakes(t, dir, err))
	}
}

// Characters without a shape may stand in a prompt where they belong to a word or
// a picture. People write such languages.
func TestPromptOfOtherScripts(t *testing.T) {
	for _, text := range []string{"می\u200cخواهم", "क्\u200dष", "⚠\ufe0f Reject.", "👩\u200d💻", "👁\ufe0f\u200d🗨\ufe0f", "日本語\u3000です",
		"\u0600\u0661"} {
		c, _, err := load(t, map[string]string{"vedette.yaml": ownPrompt, "texts/criteria.txt": text}, config.Options{})
		require.NoError(t, err, "%+q", text)
		require.Equal(t, text, c.Sentinel.PromptText)
	}
}
