// Package hook puts a Vedette server before the tools of Claude Code, as a hook program.
//
//	h, err := hook.New(hook.Options{URL: "http://127.0.0.1:8420", Token: token, State: folder})
//	err = h.Answer(ctx, os.Stdin, os.Stdout)
//
// Claude Code starts a hook program at each of its events, with the event as JSON on standard
// input. Three are answered:
//
//   - PreToolUse asks POST /v1/calls about the tool. Allowed is {}, so Claude Code's own
//     permissions still count. Denied is permissionDecision "deny" with a reason for the model. A call
//     that waits for a person is asked about again until Options.Wait is over, and denied then.
//   - PostToolUse and PostToolUseFailure report what became of the call, so that what it returned
//     taints the conversation.
//   - UserPromptSubmit keeps the prompt in a file of the state folder: it is the request of the calls
//     that follow. The server takes it for the user's words only where the token says so.
//
// Any trouble before a tool is an error, and the program that calls Answer must end with status
// 2 then: Claude Code takes every other failure for a yes.
//
// The conversation is the session of Claude Code, a call's id the id of its tool use. Tools are
// skills by skills.NameTool: Bash is tool.b-uash.
//
// What not to do: don't end with status 1 after an error, and don't run the hook without
// "onFailure": "block" in versions that know it. Don't take it for confinement: a command that
// Claude Code runs can read what its user can, this hook's token too.
//
// The package isn't stable: docs/api.md lists those that are.
package hook
