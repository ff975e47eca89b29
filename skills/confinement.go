package skills

import "encoding/json"

// Confinement says what holds a skill's effects where they happen, as its
// options declare it. The guard asks a person about command lines that nothing
// holds.
type Confinement string

// The closed list of confinements.
const (
	// RunsNothing is a skill whose answer is fixed: no command line runs.
	RunsNothing Confinement = "nothing"
	// Sandboxed is a program that runs in the exec sandbox, or not at all.
	Sandboxed Confinement = "sandboxed"
	// Unconfined is a program that runs with all rights of this process.
	Unconfined Confinement = "unconfined"
	// External is a service that the operator says isolates what it runs.
	External Confinement = "external"
	// Undeclared is everything else: a service that says nothing, Go code.
	Undeclared Confinement = "undeclared"
)

// confinementOf reads the run kind and its isolation option.
func confinementOf(r Run) Confinement {
	var options struct {
		Isolation string `json:"isolation"`
	}
	// The package of the kind reads the options again and names mistakes.
	_ = json.Unmarshal(r.Options, &options)
	switch {
	case r.Kind == "template":
		return RunsNothing
	case r.Kind == "exec" && options.Isolation == "none":
		return Unconfined
	case r.Kind == "exec":
		return Sandboxed
	case options.Isolation == string(External):
		return External
	}
	return Undeclared
}
