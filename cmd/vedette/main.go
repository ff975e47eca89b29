// Command vedette decides, measures and explains what agents may do, from the
// command line. Package command is its manual.
package main

import (
	"os"

	"github.com/vedette-dev/vedette/cmd/vedette/command"
	"github.com/vedette-dev/vedette/orchestrator"
)

func main() { os.Exit(command.Main(orchestrator.Options{})) }
