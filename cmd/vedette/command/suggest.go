package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// asGroup makes cmd a command that only holds others. Alone it shows its help, and an
// unknown name under it is an error.
func asGroup(cmd *cobra.Command, under ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(under...)
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommandError(c, args[0])
		}
		return nil
	}
	cmd.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	return cmd
}

// takesArguments marks a command that has others under it and takes arguments itself.
const takesArguments = "arguments"

func unknownCommandError(c *cobra.Command, name string) error {
	if c.SuggestionsMinimumDistance <= 0 {
		c.SuggestionsMinimumDistance = 2
	}
	msg := fmt.Sprintf("unknown command %q for %q%s", name, c.CommandPath(), didYouMean(c.SuggestionsFor(name)))
	return &failure{exitUsage, errors.New(msg), "run " + c.CommandPath() + " --help"}
}

// findUnknown tells an unknown command before its flags are looked at: they would
// be called unknown in its place.
func findUnknown(root *cobra.Command, args []string) error {
	if c, rest, err := root.Find(args); err == nil {
		if c != root && c.HasSubCommands() && c.Annotations[takesArguments] == "" && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
			return unknownCommandError(c, rest[0])
		}
		return nil
	}
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			return unknownCommandError(root, a)
		}
	}
	return nil
}

func explainFlagError(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return err
	}
	var near []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && isAlike(missing.GetSpecifiedName(), f.Name) {
			near = append(near, "--"+f.Name)
		}
	})
	return fmt.Errorf("%w%s", err, didYouMean(near))
}

func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(names, " or ") + "?"
}

// isAlike reports whether typed is two edits or fewer from name, or its start.
func isAlike(typed, name string) bool {
	if len(typed) > 1 && strings.HasPrefix(name, typed) {
		return true
	}
	if len(typed) < 2 || len(typed) > 64 {
		return false
	}
	return editDistance(typed, name) <= min(2, len(name)/2)
}

// editDistance is the number of single-byte edits between a and b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
