package command

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/internal/terminal"
)

// build is what the binary knows of its making.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// unversioned is the version of a build that knows none.
const unversioned = "(devel)"

// modulePath is where Vedette is found among the modules of another program.
const modulePath = "github.com/vedette-dev/vedette"

func newVersionCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Which build this is",
		Example: "  vedette version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := readBuild(debug.ReadBuildInfo())
			if asJSON {
				return a.writeJSON(b, true)
			}
			_, err := fmt.Fprintln(a.out, terminal.Clean(b.String()))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func readBuild(info *debug.BuildInfo, ok bool) build {
	b := build{Version: unversioned, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, d := range info.Deps { // a program that has the command line in it
		if d.Path == modulePath {
			b.Version = d.Version
			return b // the commit is the program's
		}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String is the build in one line.
func (b build) String() string {
	s := "vedette " + b.Version
	if b.Revision != "" {
		s += fmt.Sprintf(" (commit %.12s", b.Revision)
		if b.Modified {
			s += ", modified"
		}
		s += ")"
	}
	s += " " + b.Go + " " + b.Platform
	if b.Revision == "" && b.Version == unversioned {
		s += ", commit unknown: built without version control; build in a clone with -buildvcs=true"
	}
	return s
}
