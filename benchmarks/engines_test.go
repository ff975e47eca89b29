package benchmarks

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/util"
	"github.com/stretchr/testify/require"
)

//go:embed testdata/office.rego
var regoRules string

//go:embed testdata/office.cedar
var cedarRules string

// opa is Open Policy Agent with the rules prepared.
type opa struct{ query rego.PreparedEvalQuery }

func newOPA(tb testing.TB, others int) opa {
	tb.Helper()
	var more strings.Builder
	for i := range others {
		fmt.Fprintf(&more, "denies contains \"other%d\" if {\n\tinput.skill == \"other.s%d\"\n\tinput.args.path == \"x\"\n}\n", i, i)
	}
	q, err := rego.New(rego.Query("data.office.outcome"), rego.Module("office.rego", regoRules+more.String())).PrepareForEval(tb.Context())
	require.NoError(tb, err)
	return opa{q}
}

// document is a call as the other two engines see it.
type document struct {
	Skill string          `json:"skill"`
	User  string          `json:"user"`
	Args  json.RawMessage `json:"args"`
}

func (opa) parse(raw []byte) (ast.Value, error) {
	var v any
	if err := util.UnmarshalJSON(raw, &v); err != nil {
		return nil, err
	}
	return ast.InterfaceToValue(v)
}

func (o opa) parsed(ctx context.Context, in ast.Value) (string, error) {
	rs, err := o.query.Eval(ctx, rego.EvalParsedInput(in))
	if err != nil {
		return "", err
	}
	out, ok := rs[0].Expressions[0].Value.(string)
	if !ok {
		return "", fmt.Errorf("the outcome is a %T", rs[0].Expressions[0].Value)
	}
	return out, nil
}

func (o opa) raw(ctx context.Context, raw []byte) (string, error) {
	in, err := o.parse(raw)
	if err != nil {
		return "", err
	}
	return o.parsed(ctx, in)
}

// cedarEngine is Cedar with the rules parsed, and the actions with their
// domains as parents.
type cedarEngine struct {
	rules   *cedar.PolicySet
	actions types.EntityMap
}

func newCedar(tb testing.TB, others int) cedarEngine {
	tb.Helper()
	var more strings.Builder
	for i := range others {
		fmt.Fprintf(&more, "forbid (principal, action == Action::\"other.s%d\", resource) when { context.path == \"x\" };\n", i)
	}
	set, err := cedar.NewPolicySetFromBytes("office.cedar", []byte(cedarRules+more.String()))
	require.NoError(tb, err)
	e := cedarEngine{set, types.EntityMap{}}
	for _, s := range officeSkills {
		domain, _, _ := strings.Cut(s.name, ".")
		uid := types.NewEntityUID("Action", types.String(s.name))
		e.actions[uid] = types.Entity{UID: uid, Parents: types.NewEntityUIDSet(types.NewEntityUID("Domain", types.String(domain)))}
	}
	return e
}

// build makes the request and the entities of one call: the actions, which
// never change, and its user.
func (e cedarEngine) build(raw []byte) (types.EntityGetter, cedar.Request, error) {
	var d document
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, cedar.Request{}, err
	}
	var args types.Record
	if err := json.Unmarshal(d.Args, &args); err != nil {
		return nil, cedar.Request{}, err
	}
	user := types.NewEntityUID("User", types.String(d.User))
	return withUser{e.actions,
			types.Entity{UID: user, Attributes: types.NewRecord(types.RecordMap{"name": types.String(d.User)})}}, cedar.Request{
			Principal: user, Action: types.NewEntityUID("Action", types.String(d.Skill)),
			Resource: types.NewEntityUID("Office", "one"), Context: args,
		}, nil
}

// withUser is the entities of one call.
type withUser struct {
	actions types.EntityMap
	user    types.Entity
}

// Get finds an entity.
func (w withUser) Get(uid types.EntityUID) (types.Entity, bool) {
	if uid == w.user.UID {
		return w.user, true
	}
	return w.actions.Get(uid)
}

func (e cedarEngine) built(entities types.EntityGetter, r cedar.Request) (string, error) {
	decision, why := cedar.Authorize(e.rules, entities, r)
	if len(why.Errors) > 0 {
		return "", fmt.Errorf("%d policies could not be evaluated", len(why.Errors))
	}
	if decision == cedar.Allow {
		return "allow", nil
	}
	if len(why.Reasons) == 0 {
		return "deny", nil
	}
	for _, reason := range why.Reasons {
		if e.rules.Get(reason.PolicyID).Annotations()["outcome"] != "ask" {
			return "deny", nil
		}
	}
	return "ask", nil
}

func (e cedarEngine) raw(raw []byte) (string, error) {
	entities, r, err := e.build(raw)
	if err != nil {
		return "", err
	}
	return e.built(entities, r)
}
