package setup

import "github.com/vedette-dev/vedette/cmd/vedette/handlers"

// NewHandlers makes what answers behind the server's guard. The chat page offers the examples.
func NewHandlers(version string, examples []string) handlers.Builder {
	return handlers.Build(version, examples)
}
