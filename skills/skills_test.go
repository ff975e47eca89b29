package skills_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/skills"
)

func compile(t testing.TB, effect skills.Effect, params string) *skills.Skill {
	t.Helper()
	s, err := skills.Compile(skills.Spec{Name: "test.do", Effect: effect, Parameters: json.RawMessage(params)})
	require.NoError(t, err)
	return s
}

func parse(t testing.TB, raw string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	var m map[string]any
	require.NoError(t, d.Decode(&m))
	return m
}

func paths(err error) []string {
	var out []string
	var walk func(error)
	walk = func(e error) {
		if p, ok := e.(interface{ ConfigPath() string }); ok {
			out = append(out, p.ConfigPath())
			return
		}
		if j, ok := e.(interface{ Unwrap() []error }); ok {
			for _, x := range j.Unwrap() {
				walk(x)
			}
		}
	}
	walk(err)
	return out
}

// Every mistake in a Spec is reported, each at its path.
func TestCompileReportsEveryMistake(t *testing.T) {
	_, err := skills.Compile(skills.Spec{
		Name: "Email", Effect: "delete", Reaches: "all", Output: "yes", Approval: "sometimes", Risk: "none", Timeout: -1,
		Parameters: json.RawMessage(`{"type":"object","properties":{"to":{"typo":1,"x-taget":true}}}`),
	})
	require.ElementsMatch(t, []string{
		"name", "effect", "reaches", "output", "approval", "risk", "timeout",
		"parameters.properties.to.typo", "parameters.properties.to.x-taget",
	}, paths(err))
}

// Only what reads or creates may be marked risk: low.
func TestLowRiskIsForReadsAndCreations(t *testing.T) {
	for _, e := range skills.Effects() {
		s, err := skills.Compile(skills.Spec{Name: "a.b", Effect: e, Risk: skills.LowRisk})
		if e == skills.Read || e == skills.Create {
			require.NoError(t, err)
			require.Equal(t, skills.LowRisk, s.Risk())
			continue
		}
		require.Equal(t, []string{"risk"}, paths(err), e)
	}
}

// A misspelt schema keyword would assert nothing, so it is an error that names
// the one that was meant.
func TestUnknownKeywordsAreErrors(t *testing.T) {
	for raw, want := range map[string]string{
		`{"type":"object","properties":{"a":{"minLengh":3}}}`:     `did you mean "minLength"?`,
		`{"type":"object","additionalPropertys":true}`:            `did you mean "additionalProperties"?`,
		`{"type":"object","properties":{"a":{"format":"emial"}}}`: `did you mean "email"?`,
		`{"type":"object","properties":{"a":{"x-target":"yes"}}}`: `must be true or false`,
		`{"type":"array"}`: `must be the schema of an object`,
		`{"type":"object"`: `is not valid JSON`,
		`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`:   `leads nowhere`,
		`{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1/x"}}}`:   `leads nowhere`,
		`{"type":"object","properties":{"a":{"type":"strin"}}}`:                `is not a valid JSON Schema`,
		`{"type":"object","properties":{"a":{"type":"string","pattern":"["}}}`: `is not a valid JSON Schema`,
	} {
		_, err := skills.Compile(skills.Spec{Name: "a.b", Effect: skills.Read, Parameters: json.RawMessage(raw)})
		require.ErrorContains(t, err, want, raw)
	}
}

// A schema that is none is told at the place of each of its mistakes.
func TestInvalidSchemasHaveAPlace(t *testing.T) {
	_, err := skills.Compile(skills.Spec{Name: "a.b", Effect: skills.Read, Parameters: json.RawMessage(
		`{"type":"object","properties":{"a":{"type":"strin"},"b":{"anyOf":[{},{"minLength":"x"}]}},"required":"a"}`)})
	require.ElementsMatch(t, []string{"parameters.properties.a.type", "parameters.properties.b.anyOf[1].minLength", "parameters.required"},
		paths(err))
	require.ErrorContains(t, err,
		"parameters.properties.a.type: is not a valid JSON Schema: got string, want array; value must be one of 'array', ")
}

// Arguments that the schema doesn't name are refused unless it says otherwise. That holds
// where the named ones stand in a subschema, too.
func TestUnknownArgumentsAreRefused(t *testing.T) {
	for _, tc := range []struct {
		name, params, args string
		keywords           []string
	}{
		{"closed by default", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{"a":"x","b":1}`, []string{"additionalProperties"}},
		{"opened by the operator", `{"type":"object","additionalProperties":true}`, `{"b":1}`, nil},
		{"declared in a branch", `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}}}]}`, `{"a":"x"}`, nil},
		{"not declared in any branch", `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}}}]}`, `{"b":"x"}`, []string{"false"}},
		{"no schema at all", ``, `{"b":"x"}`, []string{"additionalProperties"}},
		{"format is asserted", `{"type":"object","properties":{"to":{"type":"string","format":"email"}}}`, `{"to":"nobody"}`, []string{"format"}},
		{"every error", `{"type":"object","required":["a","c"],"properties":{"a":{"type":"string"},"c":{},"n":{"maximum":3}}}`, `{"a":1,"n":9}`,
			[]string{"required", "type", "maximum"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := compile(t, skills.Read, tc.params)
			var got []string
			for _, e := range s.Validate(parse(t, tc.args)) {
				got = append(got, e.Keyword)
			}
			require.Equal(t, tc.keywords, got)
		})
	}
}

// A pointer into undeclared keys stops before them: they are the model's words.
func TestPointersHoldDeclaredNamesAlone(t *testing.T) {
	s := compile(t, skills.Read,
		`{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}},`+
			`"additionalProperties":{"type":"integer"}}}}}`)
	errs := s.Validate(parse(t, `{"list":[{"n":"x"},{"CANARY":"y"},{"4111111111111111":"y"}]}`))
	require.Len(t, errs, 3)
	require.Equal(t, "/list/2", errs[2].Pointer, "a key of digits is no index")
	require.Equal(t, "/list/0/n", errs[0].Pointer)
	require.Equal(t, "/list/1", errs[1].Pointer)
}

// Marks apply through lists, nested objects, references and nullable branches.
func TestAnnotationsReachEveryValue(t *testing.T) {
	s := compile(t, skills.Read, `{"type":"object","$defs":{"who":{"type":"string","x-target":true}},"properties":{
		"to":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/who"}},{"type":"null"}]},
		"body":{"type":"string","x-content":true},
		"deep":{"type":"object","x-secret":true,"properties":{"k":{"type":"string"}}},
		"n":{"type":"integer"}}}`)
	got := map[string]skills.Annotation{}
	s.Walk(parse(t, `{"to":["a","b"],"body":"c","deep":{"k":"d"},"n":7}`), func(a skills.Arg) { got[a.Pointer] = a.Marks })
	require.Equal(t, map[string]skills.Annotation{
		"/to/0": skills.Target, "/to/1": skills.Target, "/body": skills.Content, "/deep/k": skills.Secret, "/n": 0,
	}, got)
	require.True(t, s.Annotated())
	hidden := s.WithoutSecrets(parse(t, `{"deep":{"k":"d"},"body":"c"}`))
	require.Equal(t, map[string]any{"deep": "[secret]", "body": "c"}, hidden)
}

// Without any annotation every string may be a target and the usual names of
// command lines are shell.
func TestSkillsWithoutAnnotationsAreGuessed(t *testing.T) {
	s := compile(t, skills.Read, `{"type":"object","properties":{"cmd":{"type":"string"},"x":{"type":"string"}}}`)
	got := map[string]skills.Annotation{}
	s.Walk(parse(t, `{"cmd":"ls","x":"y"}`), func(a skills.Arg) { got[a.Name] = a.Marks })
	require.Equal(t, map[string]skills.Annotation{"cmd": skills.Target | skills.Shell, "x": skills.Target}, got)
}

// A schema that refers to itself keeps its marks however deep a value lies,
// and secrets are hidden there too.
func TestRecursiveSchemaKeepsItsMarks(t *testing.T) {
	s := compile(t, skills.Modify,
		`{"type":"object","properties":{"step":{"$ref":"#/$defs/step"}},"$defs":{"step":{"type":"object","properties":{
		"cmd":{"type":"string","x-shell":true},"file":{"type":"string","x-path":true},"pw":{"type":"string","x-secret":true},
		"then":{"$ref":"#/$defs/step"},"all":{"type":"array","items":{"$ref":"#/$defs/step"}}}}}}`)
	args := parse(t, `{"step":{"then":{"all":[{"cmd":"a","then":{"file":"b","pw":"HIDDEN"}}]}}}`)
	require.Empty(t, s.Validate(args))
	got := map[string]skills.Annotation{}
	s.Walk(args, func(a skills.Arg) { got[a.Name] = a.Marks })
	require.Equal(t, map[string]skills.Annotation{"cmd": skills.Shell, "file": skills.Path, "pw": skills.Secret}, got)
	hidden, err := json.Marshal(s.WithoutSecrets(args))
	require.NoError(t, err)
	require.NotContains(t, string(hidden), "HIDDEN")
	require.NotEmpty(t, s.Validate(parse(t, `{"step":{"then":{"other":1}}}`)), "and is closed there too")
}

// Marks come from every keyword that can describe a value, each for its own.
func TestMarksOfEveryKeyword(t *testing.T) {
	s := compile(t, skills.Modify, `{"type":"object","unevaluatedProperties":{"type":"string","x-url":true},"properties":{
		"pair":{"type":"array","prefixItems":[{"type":"string","x-content":true},{"type":"string","x-path":true}],
		"items":{"type":"string","x-shell":true}},
		"both":{"type":"string"},"either":{"anyOf":[{"type":"string","x-content":true},{"type":"string","x-path":true}]},
		"%25 ~":{"$ref":"#/$defs/a%20b"}},
		"patternProperties":{"^both$":{"x-target":true}},"$defs":{"a b":{"type":"string","x-secret":true}}}`)
	got := map[string]skills.Annotation{}
	s.Walk(parse(t, `{"pair":["c","p","s"],"both":"t","either":"x","%25 ~":"k","free":"u"}`), func(a skills.Arg) { got[a.Pointer] = a.Marks })
	require.Equal(t, map[string]skills.Annotation{
		"/pair/0": skills.Content, "/pair/1": skills.Path, "/pair/2": skills.Shell, "/both": skills.Target,
		"/either": skills.Path, "/%25 ~0": skills.Secret, "/free": skills.URL,
	}, got)
}

// References that the marks can't be followed through are refused.
func TestUnfollowableReferences(t *testing.T) {
	for _, raw := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#thing"}},"$defs":{"t":{"$anchor":"thing","type":"string"}}}`,
		`{"type":"object","properties":{"a":{"$dynamicRef":"#t"}}}`,
		`{"type":"object","$id":"http://x.example/","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"other.json"}}}`,
	} {
		_, err := skills.Compile(skills.Spec{Name: "a.b", Effect: skills.Read, Parameters: json.RawMessage(raw)})
		require.Error(t, err, raw)
	}
}

// Objects inside the arguments are closed like the arguments themselves.
func TestNestedObjectsAreClosed(t *testing.T) {
	s := compile(t, skills.Modify, `{"type":"object","properties":{
		"target":{"type":"object","properties":{"to":{"type":"string"}}},
		"open":{"type":"object","additionalProperties":true,"properties":{"to":{"type":"string"}}},
		"any":{"type":"object"},
		"list":{"type":"array","items":{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"null"}]}},
		"joined":{"allOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}}}],"properties":{}}}}`)
	for args, ok := range map[string]bool{
		`{"target":{"to":"a"}}`: true, `{"target":{"TO":"b"}}`: false, `{"open":{"TO":"b"}}`: true, `{"any":{"x":1}}`: true,
		`{"list":[{"a":"x"},null]}`: true, `{"list":[{"A":"x"}]}`: false, `{"joined":{"a":"x","b":"y"}}`: true,
		`{"joined":{"a":"x","c":"y"}}`: false,
	} {
		require.Equal(t, ok, len(s.Validate(parse(t, args))) == 0, args)
	}
}

// The digest covers the whole Spec, so any change of it is another skill.
func TestDigestCoversEveryField(t *testing.T) {
	base := skills.Spec{Name: "a.b", Description: "d", Effect: skills.Read,
		Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`),
		Run:        skills.Run{Kind: "http", Options: json.RawMessage(`{"url":"x"}`)}}
	digest := func(change func(*skills.Spec)) string {
		s := base
		change(&s)
		k, err := skills.Compile(s)
		require.NoError(t, err)
		return k.Digest()
	}
	seen := map[string]int{}
	for i, change := range []func(*skills.Spec){
		func(*skills.Spec) {}, func(s *skills.Spec) { s.Name = "a.c" }, func(s *skills.Spec) { s.Description = "e" },
		func(s *skills.Spec) { s.Effect = skills.Modify }, func(s *skills.Spec) { s.Reaches = skills.Self },
		func(s *skills.Spec) { s.Output = skills.Trusted }, func(s *skills.Spec) { s.Approval = skills.ApproveAlways },
		func(s *skills.Spec) { s.Idempotent = true }, func(s *skills.Spec) { s.Disabled = true },
		func(s *skills.Spec) { s.Timeout = time.Second }, func(s *skills.Spec) { s.Run.Options = json.RawMessage(`{"url":"y"}`) },
		func(s *skills.Spec) { s.Parameters = json.RawMessage(`{"type":"object"}`) },
	} {
		d := digest(change)
		require.NotContains(t, seen, d, "change %d", i)
		seen[d] = i
	}
	require.Equal(t, digest(func(*skills.Spec) {}), digest(func(s *skills.Spec) {
		s.Parameters = json.RawMessage(`{"properties": {"a": {"type":"string"}}, "type":"object"}`)
	}), "key order and white space are not part of it")
}

// Names can't hold anything that could be read as something else.
func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"email.send": true, "a.b.c": true, "memory.query_entity_graph": true, "a1.b-2": true,
		"": false, "email": false, ".send": false, "email.": false, "Email.send": false, "email.se nd": false,
		"email.send\n": false, "emäil.send": false, "1a.b": false, "a..b": false, strings.Repeat("a", 200) + ".b": false,
	} {
		require.Equal(t, ok, skills.ValidName(name), "%q", name)
	}
}

// A scope allows exact names and whole domains and nothing that looks like them.
func TestScope(t *testing.T) {
	s, err := skills.NewScope("email.*", "files.read")
	require.NoError(t, err)
	for name, ok := range map[string]bool{
		"email.send": true, "email.a.b": true, "files.read": true, "files.write": false, "emailx.send": false,
		"email": false, "email.": false, "": false, "files.read.all": false,
	} {
		require.Equal(t, ok, s.Allows(name), name)
	}
	require.False(t, skills.Scope{}.Allows("email.send"), "the zero scope allows nothing")
	for _, bad := range []string{"*", ".*", "email", "email.**", "*.send", "", "Email.*", "email.se*"} {
		_, err := skills.NewScope(bad)
		require.Error(t, err, bad)
	}
}

func scopeGen() *rapid.Generator[skills.Scope] {
	entry := rapid.SampledFrom([]string{"a.*", "a.b.*", "b.*", "a.x", "a.b.x", "a.b.y", "b.x", "c.x"})
	return rapid.Custom(func(t *rapid.T) skills.Scope {
		s, err := skills.NewScope(rapid.SliceOf(entry).Draw(t, "scope")...)
		require.NoError(t, err)
		return s
	})
}

// Within is what it says: an inner scope never allows what the outer doesn't,
// and a union allows what either does.
func TestScopeWithinAndUnion(t *testing.T) {
	names := []string{"a.x", "a.z", "a.b.x", "a.b.y", "a.b.q", "b.x", "b.y", "c.x", "c.y"}
	rapid.Check(t, func(t *rapid.T) {
		in, out := scopeGen().Draw(t, "in"), scopeGen().Draw(t, "out")
		within, wider := in.Within(out)
		require.Equal(t, within, len(wider) == 0)
		u := in.Union(out)
		for _, n := range names {
			if within && in.Allows(n) {
				require.True(t, out.Allows(n), n)
			}
			require.Equal(t, in.Allows(n) || out.Allows(n), u.Allows(n), n)
		}
		if both, _ := in.Within(u); !both {
			t.Fatal("a scope is within its union")
		}
	})
}

// No two different orders have one digest, however their fields are cut.
func TestOrderDigestIsUnambiguous(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.StringOfN(rapid.RuneFrom([]rune("ab:/")), 0, 3, -1)
		mk := func(l string) skills.Order {
			return skills.Order{GrantID: f.Draw(t, l), User: f.Draw(t, l), Conversation: f.Draw(t, l), Skill: f.Draw(t, l),
				SkillDigest: f.Draw(t, l), Args: f.Draw(t, l)}
		}
		a, b := mk("a"), mk("b")
		require.Equal(t, a == b, a.Digest() == b.Digest())
		// Two random orders hardly ever differ in one field alone.
		one := a
		field := []*string{&one.GrantID, &one.User, &one.Conversation, &one.Skill, &one.SkillDigest,
			&one.Args}[rapid.IntRange(0, 5).Draw(t, "field")]
		*field = f.Draw(t, "other")
		require.Equal(t, a == one, a.Digest() == one.Digest())
	})
	require.Equal(t, skills.Order{Skill: "x", CallID: "1"}.Digest(), skills.Order{Skill: "x", CallID: "2"}.Digest(),
		"the call id is not part of it")
}

// A name stands for one skill.
func TestRegistryRefusesDuplicates(t *testing.T) {
	a := compile(t, skills.Read, ``)
	_, err := skills.NewRegistry(a, a)
	require.ErrorContains(t, err, `"test.do" is declared twice`)
	var none *skills.Registry
	_, ok := none.Get("test.do")
	require.False(t, ok)
}

// Suggestions are near misses alone.
func TestNearest(t *testing.T) {
	known := []string{"permission", "permissions", "guard", "judge", "skills"}
	for got, want := range map[string]string{"permision": "permission", "gaurd": "guard", "jduge": "judge", "zebra": "", "sk": "",
		"skill": "skills"} {
		require.Equal(t, want, skills.Nearest(got, known), got)
	}
}

// Schemas of any shape are compiled or refused, never a panic.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{`{"type":"object"}`, `{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`,
		`{"type":"object","allOf":[true,false]}`, `[]`, `{"type":"object","$defs":{"x":{"$ref":"#"}},"properties":{"y":{"$ref":"#/$defs/x"}}}`,
		`{"type":"object","prefixItems":3}`} {
		f.Add(s, `{"a":[1,{"b":null}]}`)
	}
	f.Fuzz(func(t *testing.T, params, args string) {
		s, err := skills.Compile(skills.Spec{Name: "a.b", Effect: skills.Read, Parameters: json.RawMessage(params)})
		if err != nil {
			require.NotEmpty(t, paths(err), "an error has a path: %v", err)
			return
		}
		var m map[string]any
		if json.Unmarshal([]byte(args), &m) == nil {
			s.Walk(m, func(skills.Arg) {})
			s.WithoutSecrets(m)
			s.Validate(m)
		}
	})
}

// A reference to a file on disk is not followed.
func TestNoFileReferences(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"type":"string"}`), 0o600))
	_, err := skills.Compile(skills.Spec{Name: "a.b", Effect: skills.Read,
		Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"file://` + file + `"}}}`)})
	require.ErrorContains(t, err, "leads nowhere")
}

// References that double at every step stay as many nodes as there are subschemas. What lies
// behind them is found.
func TestDoublingReferences(t *testing.T) {
	defs := map[string]any{"z": map[string]any{"type": "string", "x-secret": true}}
	next := "z"
	for _, n := range strings.Split("abcdefghijklmnopqrstuvwxy", "") {
		ref := map[string]any{"$ref": "#/$defs/" + next}
		defs[n] = map[string]any{"type": "object", "properties": map[string]any{"l": ref, "r": ref}}
		next = n
	}
	raw, err := json.Marshal(map[string]any{"type": "object", "$defs": defs,
		"properties": map[string]any{"x": map[string]any{"$ref": "#/$defs/" + next}}})
	require.NoError(t, err)
	s, err := skills.Compile(skills.Spec{Name: "a.b", Effect: skills.Read, Parameters: raw})
	require.NoError(t, err)
	deep := `"v"`
	for i := range 25 {
		deep = `{"` + string("lr"[i%2]) + `":` + deep + `}`
	}
	var marks skills.Annotation
	s.Walk(parse(t, `{"x":`+deep+`}`), func(a skills.Arg) { marks = a.Marks })
	require.Equal(t, skills.Secret, marks)
}
