package skills

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/invopop/jsonschema"
)

// GoSkill is a Go function declared as a skill. The function itself can't be
// reached: Executor is the only way to it, and asks for a warrant.
type GoSkill struct {
	skill   *Skill
	run     RunFunc
	options funcOptions
}

// Skill returns the compiled declaration.
func (g *GoSkill) Skill() *Skill { return g.skill }

// Executor returns what runs the function, guarded by r. It has no credentials.
func (g *GoSkill) Executor(r Redeemer) Executor { return g.ExecutorWith(r, nil) }

// ExecutorWith is Executor for a function that may take the credentials that it
// named with UseCredentials.
func (g *GoSkill) ExecutorWith(r Redeemer, from CredentialResolver) Executor {
	run := g.run
	if p := g.options.Perimeter; p != nil {
		run = runWithin(*p, g.skill.Effect(), run)
	}
	may := g.options.Credentials
	if len(may) == 0 {
		return NewExecutor(r, g.skill, run)
	}
	return NewExecutor(r, g.skill, func(ctx context.Context, o Order) (Result, error) {
		w := &wallet{from: from, may: may, caller: o.Caller()}
		return w.scrubResult(run(context.WithValue(ctx, walletKey{}, w), o))
	})
}

// runWithin gives each run its own bounds, which end with it.
func runWithin(p Perimeter, e Effect, run RunFunc) RunFunc {
	return func(ctx context.Context, o Order) (Result, error) {
		b := &bounds{perimeter: p, effect: e}
		defer b.close()
		return run(context.WithValue(ctx, boundsKey{}, b), o)
	}
}

// Credentials returns the names of the credentials that the function may take.
func (g *GoSkill) Credentials() []string { return slices.Clone(g.options.Credentials) }

// Func declares a Go function as a skill. In must be a struct; its JSON Schema
// is derived from its fields and their `json` and `jsonschema` tags, with
// marks given by `jsonschema_extras:"x-target=true"`. spec.Parameters replaces
// the derived schema where it is set; spec.Run must be empty. Out is returned
// to the model as JSON, or as it is where it is a string.
//
// fn learns from CallerFrom for whom it runs, and takes the user's credentials
// with CredentialFrom.
//
// A panic of fn is contained. A panic in a goroutine that fn starts itself
// ends the process: run code that isn't trusted with the exec kind instead.
func Func[In, Out any](spec Spec, fn func(ctx context.Context, in In) (Out, error), options ...FuncOption) (*GoSkill, error) {
	if spec.Run.Kind != "" {
		return nil, &PathError{"run", "must be empty for a Go function"}
	}
	if fn == nil {
		return nil, &PathError{"run", "the function is nil"}
	}
	own, err := collectOptions(&spec, options)
	if err != nil {
		return nil, err
	}
	if len(spec.Parameters) == 0 {
		raw, err := schemaOf(reflect.TypeFor[In]())
		if err != nil {
			return nil, err
		}
		spec.Parameters = raw
	}
	s, err := Compile(spec)
	if err == nil {
		err = own.checkFor(s)
	}
	if err != nil {
		return nil, err
	}
	return &GoSkill{s, func(ctx context.Context, o Order) (Result, error) {
		var in In
		// encoding/json would take "TO" for "to": an argument that no gate
		// judged under that name.
		if err := jsonv2.Unmarshal([]byte(o.Args), &in, jsonv1.DefaultOptionsV1(), jsonv2.MatchCaseInsensitiveNames(false)); err != nil {
			return Result{}, fmt.Errorf("%w: the arguments do not fit the function's input: %w", ErrBadInput, err)
		}
		out, err := fn(ctx, in)
		if err != nil {
			return Result{}, err
		}
		return encodeResult(out)
	}, own}, nil
}

// collectOptions puts the options of a Go function into its Spec.
func collectOptions(spec *Spec, options []FuncOption) (funcOptions, error) {
	var own funcOptions
	for _, set := range options {
		set(&own)
	}
	raw, err := own.marshalOptions()
	if err != nil {
		return own, &PathError{"run", "its options are not JSON"}
	}
	spec.Run = Run{Kind: "go", Options: raw}
	return own, nil
}

func encodeResult(out any) (Result, error) {
	if s, ok := out.(string); ok {
		return Result{Content: s, Isolation: "in process"}, nil
	}
	b, err := json.Marshal(out)
	if err != nil {
		// The function has run: what it did stands.
		return Result{}, &Failure{Code: FailFailed, Unknown: true, Err: fmt.Errorf("the result is not JSON: %w", err)}
	}
	return Result{Content: string(b), Isolation: "in process"}, nil
}

func schemaOf(t reflect.Type) (json.RawMessage, error) {
	if t.Kind() != reflect.Struct {
		return nil, &PathError{"parameters", fmt.Sprintf("the input type %s is not a struct", t)}
	}
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true}
	s := r.ReflectFromType(t)
	s.Version = ""
	b, err := json.Marshal(s)
	if err != nil {
		return nil, &PathError{"parameters", "no schema can be derived: " + err.Error()}
	}
	return b, nil
}

// FuncOption shapes a Go function that is declared as a skill.
type FuncOption func(*funcOptions)

// funcOptions are in the skill's Run, so they are part of its digest.
type funcOptions struct {
	Credentials []string   `json:"credentials,omitempty"`
	Perimeter   *Perimeter `json:"perimeter,omitempty"`
}

// marshalOptions returns the options for a Run; none where nothing is set.
func (o funcOptions) marshalOptions() (json.RawMessage, error) {
	if len(o.Credentials) == 0 && o.Perimeter == nil {
		return nil, nil
	}
	return json.Marshal(o)
}

// checkFor refuses what no function may be given.
func (o funcOptions) checkFor(s *Skill) error {
	if len(o.Credentials) > 0 && s.TakesShell() {
		return &PathError{"run", "uses a credential and takes a command line (x-shell), which could send it anywhere; make them two skills"}
	}
	if slices.Contains(o.Credentials, "") {
		return &PathError{"run", "uses a credential without a name"}
	}
	return o.Perimeter.checkFor(s.Effect())
}
