package skills

import "encoding/json"

// Proposed is a call as a model wrote it: the name of a skill, known or not,
// and arguments that no code has parsed yet.
type Proposed struct {
	Skill string
	Args  json.RawMessage
}
