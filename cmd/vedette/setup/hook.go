package setup

import "github.com/vedette-dev/vedette/orchestrator/hook"

// HookOptions are the settings of a hook.
type HookOptions = hook.Options

// HookWait is how long a hook's call waits for a person.
const HookWait = hook.DefaultWait

// NewHook returns what answers the events of Claude Code.
func NewHook(o HookOptions) (*hook.Hook, error) { return hook.New(o) }
