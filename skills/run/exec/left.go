package exec

import "github.com/vedette-dev/vedette/skills/run/exec/snapshot"

// LeftLayer is what a program wrote by snapshot whose process ended before that was
// committed or thrown away.
type LeftLayer struct {
	// ID names the layer in its state folder.
	ID string
	// CallID is the call of the program; empty where it can't be read.
	CallID string
	// Committed is set where all of it is in the write roots.
	Committed bool
}

// LeftLayers lists what is in a state folder, none where there is no such folder. It must
// run before the first program of this process.
func LeftLayers(state string) ([]LeftLayer, error) {
	ids, err := snapshot.IDs(state)
	if err != nil {
		return nil, err
	}
	var out []LeftLayer
	for _, id := range ids {
		one := LeftLayer{ID: id}
		if l, err := snapshot.Load(state, id); err == nil {
			one.CallID = l.Label()
			how, err := l.State()
			one.Committed = err == nil && how == snapshot.StateCommitted
		}
		out = append(out, one)
	}
	return out, nil
}

// DropLayer throws a layer away. What of it was committed stays.
func DropLayer(state, id string) error { return snapshot.DiscardFolder(state, id) }
