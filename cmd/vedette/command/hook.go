package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
)

func newHookCommand(a *app) *cobra.Command {
	cmd := asGroup(&cobra.Command{
		Use:   "hook",
		Short: "Ask a server before another agent's tools run",
		Long: `Programs that run agents of their own start a hook before each tool. These hooks ask a
Vedette server about the call, and report what became of it.`,
		Example: `  vedette hook claude-code < event.json`,
	}, newHookClaudeCommand(a))
	// A hook that was entered without its name must not look like one that has no objection.
	cmd.RunE = func(*cobra.Command, []string) error {
		return &failure{exitUsage, errors.New("the hook has no name"), "run vedette hook claude-code, and nothing runs until then"}
	}
	return cmd
}

// hookClaudeCommand is `vedette hook claude-code`.
type hookClaudeCommand struct {
	*app
	wait  time.Duration
	state string
}

func newHookClaudeCommand(a *app) *cobra.Command {
	c := &hookClaudeCommand{app: a}
	cmd := &cobra.Command{
		Use:   "claude-code",
		Short: "Answer an event of Claude Code",
		Long: `Claude-code reads an event of Claude Code from standard input and asks the server at
VEDETTE_URL with the token in VEDETTE_TOKEN, which needs the scope call. Enter it in
.claude/settings.json for PreToolUse, PostToolUse, PostToolUseFailure and
UserPromptSubmit, with "onFailure": "block". Tools are skills: Bash is tool.b-uash.

Any trouble ends with status 2, which keeps the tool from running.`,
		Example: `  "PreToolUse": [{"hooks": [{"type": "command", "command": "vedette hook claude-code", "onFailure": "block"}]}]`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().DurationVar(&c.wait, "wait", setup.HookWait, "how long a call waits for a person; less than the hook's own time")
	cmd.Flags().StringVar(&c.state, "state", "", "`FOLDER` for the newest prompt of each session (default in the user's state folder)")
	return cmd
}

// run ends with status 2 after any error: Claude Code takes every other failure for a yes.
func (c *hookClaudeCommand) run(ctx context.Context) error {
	if err := c.answer(ctx); err != nil {
		return &failure{exitUsage, err, "nothing runs until Vedette can be asked"}
	}
	return nil
}

func (c *hookClaudeCommand) answer(ctx context.Context) error {
	state, err := c.stateFolder()
	if err != nil {
		return err
	}
	wait := c.wait
	if wait == 0 {
		wait = -1
	}
	h, err := setup.NewHook(setup.HookOptions{URL: os.Getenv("VEDETTE_URL"), Token: os.Getenv("VEDETTE_TOKEN"), State: state, Wait: wait})
	if err != nil {
		return err
	}
	return h.Answer(ctx, c.in, c.out)
}

func (c *hookClaudeCommand) stateFolder() (string, error) {
	if c.state != "" {
		return c.state, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "vedette", "hook"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("there is no home folder for prompts; name one with --state FOLDER")
	}
	return filepath.Join(home, ".local", "state", "vedette", "hook"), nil
}
