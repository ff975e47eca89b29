package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// DefaultTimeout bounds one run of a skill whose Spec sets none.
const DefaultTimeout = 30 * time.Second

// MaxTimeout is the longest timeout a Spec may ask for.
const MaxTimeout = 30 * time.Minute

// MaxName is the greatest length of a skill's name in bytes.
const MaxName = 128

// Spec declares a skill. It is plain data: what an operator writes in YAML or
// an engineer in Go. Compile checks it.
type Spec struct {
	// Name is dot-named, domain first: "email.send".
	Name string `json:"name"`
	// Description is shown to models and approvers.
	Description string `json:"description,omitempty"`
	// Effect has no default: a Spec without one is refused.
	Effect Effect `json:"effect"`
	// Reaches is self or others. Empty takes the default of the run kind.
	Reaches Reach `json:"reaches,omitempty"`
	// Output is the trust of what the skill returns. Empty means untrusted.
	Output Trust `json:"output,omitempty"`
	// StrangerFields are the names of fields that their subject writes, in results of JSON that
	// are trusted otherwise: the name that a member of a directory gives himself. What stands in
	// them is a stranger's, and all of a result that is no JSON is.
	StrangerFields []string `json:"stranger_fields,omitempty"`
	// Sensitive says that what the skill returns is private: the judge looks for it in every
	// later call that leaves the process, and a rule can name it.
	Sensitive bool `json:"sensitive,omitempty"`
	// Risk is low where an operator finds that the plainest calls of the skill need no model;
	// only a skill that reads or creates may say so. Empty means normal.
	Risk Risk `json:"risk,omitempty"`
	// Parameters is a JSON Schema (2020-12) of an object. Empty means that
	// the skill takes no arguments. Arguments it does not name are refused
	// unless it says otherwise.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Approval is never, policy (the default) or always.
	Approval Approval `json:"approval,omitempty"`
	// Idempotent says that a second run with the same key has no second
	// effect. A read counts as such without saying so: see Repeatable.
	Idempotent bool `json:"idempotent,omitempty"`
	// ByReference says that a person approves names of paths, whose content may change before the
	// run. The person is told. Without it a call whose paths can't be bound to the approval can't
	// be approved.
	ByReference bool `json:"by_reference,omitempty"`
	// Disabled refuses every call before the sentinel sees it.
	Disabled bool `json:"disabled,omitempty"`
	// Timeout bounds one run. Zero means DefaultTimeout.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Run says how the skill runs: its kind ("http", "exec", "template",
	// "builtin", "go") and the kind's own options.
	Run Run `json:"run"`
}

// Run names a way to run and carries its options, which the package of that
// kind reads and checks.
type Run struct {
	Kind    string          `json:"kind,omitempty"`
	Options json.RawMessage `json:"options,omitempty"`
}

// Skill is a Spec that was checked: its schema compiled, its annotations read,
// its digest taken. It is immutable and safe for concurrent use.
type Skill struct {
	spec   Spec
	schema *schema
	notes  *notes
	digest string

	confinement Confinement
	origin      origin
}

// Compile checks a Spec and returns the Skill, or every mistake in it as joined *PathError
// values. Their paths start at the Spec ("parameters.type").
func Compile(s Spec) (*Skill, error) {
	s = withDefaults(s)
	errs := []error{checkName(s.Name), checkFields(s)}
	sch, notes, err := compileSchema(s.Parameters)
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	d, err := specDigest(s)
	if err != nil {
		return nil, err
	}
	return &Skill{spec: s, schema: sch, notes: notes, digest: d, confinement: confinementOf(s.Run)}, nil
}

func withDefaults(s Spec) Spec {
	if s.Reaches == "" {
		s.Reaches = Self
		switch s.Run.Kind {
		case "http", "exec", "mcp":
			s.Reaches = Others
		}
	}
	if s.Output == "" {
		s.Output = Untrusted
	}
	if s.Approval == "" {
		s.Approval = ApprovePolicy
	}
	if s.Risk == NormalRisk {
		s.Risk = "" // the same in the digest
	}
	if s.Timeout == 0 {
		s.Timeout = DefaultTimeout
	}
	if len(s.Parameters) == 0 {
		s.Parameters = json.RawMessage(`{"type":"object","additionalProperties":false}`)
	}
	return s
}

func checkFields(s Spec) error {
	var errs []error
	if s.Effect == "" {
		errs = append(errs, &PathError{"effect", "is missing; say read, create, modify, irreversible or costs_money"})
	} else {
		errs = append(errs, oneOf("effect", s.Effect, Effects()...))
	}
	errs = append(errs,
		oneOf("reaches", s.Reaches, Self, Others),
		oneOf("output", s.Output, Untrusted, Trusted),
		checkStrangerFields(s),
		s.checkRisk(),
		oneOf("approval", s.Approval, ApproveNever, ApprovePolicy, ApproveAlways))
	if s.Timeout < 0 || s.Timeout > MaxTimeout {
		errs = append(errs, &PathError{"timeout", fmt.Sprintf("must be more than 0 and at most %s", MaxTimeout)})
	}
	return errors.Join(errs...)
}

// maxStrangerFields bounds the fields of a skill that strangers write.
const maxStrangerFields = 64

func checkStrangerFields(s Spec) error {
	switch {
	case len(s.StrangerFields) > 0 && s.Output != Trusted:
		return &PathError{"stranger_fields", "is for output: trusted; all of any other output is a stranger's"}
	case len(s.StrangerFields) > maxStrangerFields:
		return &PathError{"stranger_fields", fmt.Sprintf("has more than %d names", maxStrangerFields)}
	case slices.Contains(s.StrangerFields, ""):
		return &PathError{"stranger_fields", "has an empty name"}
	}
	return nil
}

// checkRisk refuses what is no risk, and a low one for what can't be taken back.
func (s Spec) checkRisk() error {
	switch s.Risk {
	case "":
		return nil
	case LowRisk:
		if s.Effect == Read || s.Effect == Create {
			return nil
		}
		return &PathError{"risk", fmt.Sprintf("low is for skills that read or create, and this one's effect is %s; leave it out", s.Effect)}
	}
	return oneOf("risk", s.Risk, NormalRisk, LowRisk)
}

// checkName holds names to lower-case words joined by dots. So a scope such as "email.*" means
// one thing, and a name can't forge a log line.
func checkName(name string) error {
	switch {
	case name == "":
		return &PathError{"name", "is missing"}
	case len(name) > MaxName:
		return &PathError{"name", fmt.Sprintf("is %d bytes long; at most %d are allowed", len(name), MaxName)}
	case !ValidName(name):
		return &PathError{"name", "must be domain.action in lower-case letters, digits, _ and -, each part starting with a letter"}
	}
	return nil
}

// ValidName reports whether name has the form of a skill's name: two or more
// parts of lower-case letters, digits, "_" and "-" joined by dots, each
// starting with a letter, at most MaxName bytes.
func ValidName(name string) bool {
	if len(name) > MaxName || !strings.Contains(name, ".") {
		return false
	}
	for part := range strings.SplitSeq(name, ".") {
		if !validWord(part) {
			return false
		}
	}
	return true
}

func validWord(w string) bool {
	if w == "" || w[0] < 'a' || w[0] > 'z' {
		return false
	}
	for i := range len(w) {
		c := w[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func specDigest(s Spec) (string, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return "", &PathError{"parameters", "is not valid JSON"}
	}
	v := jsontext.Value(b)
	if err := v.Canonicalize(); err != nil {
		return "", &PathError{"parameters", "can't be put into canonical form: " + err.Error()}
	}
	sum := sha256.Sum256(v)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// Spec returns the declaration, defaults filled in.
func (s *Skill) Spec() Spec { return s.spec }

// Name returns the skill's name.
func (s *Skill) Name() string { return s.spec.Name }

// Effect returns the declared effect.
func (s *Skill) Effect() Effect { return s.spec.Effect }

// Reaches returns whose world a call changes.
func (s *Skill) Reaches() Reach { return s.spec.Reaches }

// Digest identifies the whole Spec, how it runs included. A changed skill has
// another digest, so a warrant or an approval of the old one does not fit.
func (s *Skill) Digest() string { return s.digest }

// Parameters returns the JSON Schema of the arguments as it is validated:
// closed against unknown arguments unless the Spec opens it.
func (s *Skill) Parameters() json.RawMessage { return s.schema.raw }

// Sensitive reports whether what the skill returns is private.
func (s *Skill) Sensitive() bool { return s.spec.Sensitive }

// Risk returns the operator's judgement of the skill; empty means normal.
func (s *Skill) Risk() Risk { return s.spec.Risk }

// Repeatable reports whether an interrupted call of the skill may run again under
// the same call id: the skill says that it is idempotent, or it only reads. All
// that asks whether a repeat does harm asks here.
func (s Spec) Repeatable() bool { return s.Idempotent || s.Effect == Read }

// Confinement returns what holds the skill's effects where they happen.
func (s *Skill) Confinement() Confinement { return s.confinement }

// Claimed reports whether the skill's description and parameters are a program's word, as those of
// CompileTool are: names of arguments belong in no record then.
func (s *Skill) Claimed() bool { return s.origin.claimed }

// ShowsArg reports whether a record may hold the name of a top-level argument: its schema declares it, or of a
// schema that is Claimed, the operator wrote it.
func (s *Skill) ShowsArg(name string) bool {
	if s.origin.claimed {
		return s.origin.shown[name] && s.Declares(name)
	}
	return s.Declares(name)
}

// Named reports whether the operator wrote the skill's name. Otherwise it belongs in no record.
func (s *Skill) Named() bool { return !s.origin.unnamed }
