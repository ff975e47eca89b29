package skills_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

const vaultSchema = `{"type":"object","properties":{"name":{"type":"string"},"n":{"type":"number"},
	"key":{"type":"string","x-secret":true,"pattern":"^k","maxLength":40},
	"all":{"type":"array","items":{"type":"object","properties":{"pw":{"type":["string","integer"],"x-secret":true,
		"maximum":5},"user":{"type":"string"}}}}}}`

// What is secret, or could be, is hidden whichever way a model wrote it. All else stays, and
// what holds no secret stays as it came.
func TestRedact(t *testing.T) {
	s := compile(t, skills.Create, vaultSchema)
	require.True(t, s.Secretive())
	for _, tc := range []struct{ in, want string }{
		{`{"name":"a", "n":1.50}`, `{"name":"a", "n":1.50}`},
		{` {} `, ` {} `},
		{``, ``},
		{`null`, `null`},
		{`{"name":"<a>","n":12345678901234567890,"key":"SECRET"}`, `{"key":"[secret]","n":12345678901234567890,"name":"<a>"}`},
		{`{"key":null}`, `{"key":"[secret]"}`},
		{`{"key":{"deep":["SECRET"]}}`, `{"key":"[secret]"}`},
		{`{"all":[{"user":"u","pw":"SECRET"},{"pw":7}]}`, `{"all":[{"pw":"[secret]","user":"u"},{"pw":"[secret]"}]}`},
		{`{"Key":"SECRET","name":"a"}`, `{"Key":"[secret]","name":"a"}`},
		{`{"name":"a","key":"SECRET","key":"k"}`, skills.HiddenArgs},
		{`{"key":"SECRET"`, skills.HiddenArgs},
		{`{"name":"a"} "SECRET"`, skills.HiddenArgs},
		{`["SECRET"]`, skills.HiddenArgs},
		{`"SECRET"`, skills.HiddenArgs},
		{"{\"key\":\"SECRET\xff\"}", skills.HiddenArgs},
	} {
		got, hidden := s.Redact([]byte(tc.in))
		require.Equal(t, tc.want, string(got), tc.in)
		require.Equal(t, tc.in != tc.want, hidden, tc.in)
		again, _ := s.Redact(got)
		require.Equal(t, string(got), string(again))
	}
	open := compile(t, skills.Create, `{"type":"object","properties":{"name":{"type":"string"}}}`)
	require.False(t, open.Secretive())
	for _, in := range []string{`{"name":"a","name":"b"}`, `{"other":1}`, `[`} {
		got, hidden := open.Redact([]byte(in))
		require.Equal(t, in, string(got))
		require.False(t, hidden)
	}
}

// A message about a secret that doesn't fit does not quote it.
func TestSchemaErrorsQuoteNoSecret(t *testing.T) {
	s := compile(t, skills.Create, vaultSchema)
	errs := s.Validate(parse(t, `{"name":4711,"n":"4711","key":"4711","all":[{"pw":4711},{"user":4711}]}`))
	require.Len(t, errs, 5)
	for _, e := range errs {
		require.NotContains(t, fmt.Sprint(e.Error()), "4711", e.Pointer)
	}
	errs = compile(t, skills.Create, `{"type":"object","properties":{"key":{"type":"string","pattern":"^k"}}}`).Validate(parse(t,
		`{"key":"4711"}`))
	require.Contains(t, errs[0].Message, "4711", "of what is not secret the message says what came")
}

// Redact takes any bytes, and leaves no secret in what it returns.
func FuzzRedact(f *testing.F) {
	for _, s := range []string{`{"key":"x"}`, `{"all":[{"pw":1},[]]}`, `{"a":{"b":1}}`, `{`, `{"key":1,"key":2}`, "\xff"} {
		f.Add([]byte(s))
	}
	s, err := skills.Compile(skills.Spec{Name: "a.b", Effect: skills.Read, Parameters: []byte(vaultSchema)})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, in []byte) {
		out, hidden := s.Redact(in)
		if !hidden {
			require.Equal(t, in, out)
		}
		if args, err := decode(out); err == nil {
			s.Walk(args, func(a skills.Arg) {
				if a.Marks.Has(skills.Secret) {
					require.Equal(t, skills.Hidden, a.Value)
				}
			})
		}
	})
}

func decode(b []byte) (m map[string]any, err error) {
	err = json.Unmarshal(b, &m)
	return m, err
}

// A scope takes secrets where one of its skills does. Hiding by place leaves what the schema
// doesn't name once it was validated.
func TestWhichScopeTakesSecrets(t *testing.T) {
	var list []*skills.Skill
	for name, schema := range map[string]string{"vault.open": vaultSchema,
		"note.add": `{"type":"object","properties":{"text":{"type":"string"}}}`} {
		s, err := skills.Compile(skills.Spec{Name: name, Description: "d", Effect: skills.Create, Parameters: json.RawMessage(schema)})
		require.NoError(t, err)
		list = append(list, s)
	}
	reg, err := skills.NewRegistry(list...)
	require.NoError(t, err)
	for scope, want := range map[string]bool{"vault.*": true, "vault.open": true, "note.*": false, "other.*": false} {
		s, err := skills.NewScope(scope)
		require.NoError(t, err)
		require.Equal(t, want, reg.TakesSecrets(s), scope)
	}
	require.False(t, reg.TakesSecrets(skills.Scope{}))
	s, _ := reg.Get("vault.open")
	require.Equal(t, map[string]any{"other": "o", "key": skills.Hidden}, s.WithoutSecrets(map[string]any{"other": "o", "key": "k"}))
}

// A person who is asked sees how long a secret is, and nothing else of it.
func TestSizedSecrets(t *testing.T) {
	s := compile(t, skills.Create, vaultSchema)
	for _, tc := range []struct{ in, want string }{
		{`{"name":"a","key":"kSECRETSECRETSECRETSECRETSECRETS"}`, `{"key":"[secret, 32 characters]","name":"a"}`},
		{`{"key":"ké"}`, `{"key":"[secret, 2 characters]"}`},
		{`{"key":"k"}`, `{"key":"[secret, 1 character]"}`},
		{`{"key":""}`, `{"key":"[secret, 0 characters]"}`},
		{`{"key":null}`, `{"key":"[secret]"}`},
		{`{"all":[{"user":"u","pw":"SECRET"},{"pw":7}]}`, `{"all":[{"pw":"[secret, 6 characters]","user":"u"},{"pw":"[secret]"}]}`},
	} {
		var args map[string]any
		require.NoError(t, json.Unmarshal([]byte(tc.in), &args))
		got, err := json.Marshal(s.WithSizedSecrets(args))
		require.NoError(t, err)
		require.JSONEq(t, tc.want, string(got), tc.in)
	}
}
