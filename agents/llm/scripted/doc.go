// Package scripted is a chat-completions server that answers from a script: a
// real HTTP server for demonstrations and tests of everything that talks to a
// model, without one. It streams when it is asked to, and misbehaves on command.
//
// The package isn't stable: docs/api.md lists those that are.
//
// [Load] reads a script, [Serve] plays it. A script is a list of rules; the
// first rule that matches a request answers it:
//
//	models: [primary, fast]              # optional: other models are answered 404
//	rules:
//	  - name: orchestrator dispatches two agents at once
//	    when: {model: primary, has_tool: dispatch_agent, tool_results: 0}
//	    times: 1                         # optional: how often the rule may answer
//	    reply:
//	      tool_calls:
//	        - {name: dispatch_agent, arguments: {agent_id: a1, mission: "Find the report"}}
//	        - {name: dispatch_agent, arguments: {agent_id: a2, mission: "Read the inbox"}}
//	  - name: the agent uses an id that a tool returned
//	    when: {has_tool: use_skill, last_role: tool}
//	    reply:
//	      tool_calls:
//	        - name: use_skill
//	          arguments: {skill: files.read, arguments: {id: '{{ .Extract "id=([a-z0-9]+)" }}'}}
//	  - name: sentinel
//	    when: {schema: sentinel_decision, user_contains: email.send}
//	    reply: {content: '{"decision":"reject","reason":"not asked for"}'}
//	  - name: slow down
//	    reply: {status: 429, headers: {Retry-After: "2"}}
//
// Conditions under when must all hold; none at all matches every request:
//
//   - model: the model's name; has_tool: a tool of that name is offered;
//     has_tools: whether any is; schema: the name of the json_schema asked for,
//     "" for none; format: text, json_object or json_schema; tool_choice: auto,
//     none, required, the name of the tool that is forced, "" for nothing said;
//     stream: whether a stream was asked for.
//   - system_contains, user_contains (any user message), last_user_contains,
//     last_contains (the last message), tool_contains (any tool result since the
//     last user message): a text, or a list of texts that must all occur.
//   - last_role; tool_results, min_tool_results, max_tool_results: how many tool
//     results came since the last user message; turn: the number of the model's
//     answer in this conversation, from 1.
//
// A reply is an answer (content, refusal, tool_calls, finish_reason, usage), or
// a failure (status, body, content_type, headers), or hang: true, which says
// nothing until the client or the server goes away. A delay precedes either.
// Arguments are a mapping, encoded as JSON, or a string, sent as it is, JSON or
// not. Ids of tool calls may be given, also twice the same.
//
// Texts of a reply are Go templates over the request when they hold "{{":
// .Model, .Turn, .System, .LastUser, .Last, .LastTool, .Results, .Tool N (the
// N-th result from 0), .ToolOf "name" (the newest result of a call of that
// name), .Extract "regex" and .ExtractAll "regex" (the first group, or the
// match, looked for in tool results and then in user messages, newest first),
// and the function json, which quotes a value. What a request holds is never
// itself read as a template.
//
// The server is as strict as the services it stands in for, and says so in their
// error bodies, so a client's mistake is found here: unknown or duplicate keys,
// tool calls without an answer, a strict schema that isn't, max_tokens or a
// temperature for a reasoning model, a model that isn't there. Its messages name
// places and repeat nothing of a request, but for the fault Echo. A request that
// no rule matches is a status 500 that says which, not a guess.
//
// Misbehaviour is a [Fault], one of a closed list: a reset, silence, one byte at a
// time, a refusal, half a JSON document, a bomb of gzip, an error in the middle of
// a stream. Tests ask for it:
//
//	srv.FaultNext(3, scripted.Overloaded)                // the next three requests
//	stop := srv.FaultWhen(func(r scripted.Received) bool { // every fifth, until stop
//		return r.Number%5 == 0
//	}, scripted.ResetMidBody)
//	srv.Down()                                           // connections are refused
//	err := srv.Up()                                      // until now
//
// [Server.Received] tells what was asked, byte for byte. The package's tests hold
// this server, and any real one that is named in the environment, to one contract.
//
// What not to do: do not expose it to a network. It has no limit on how often it
// is asked, and it keeps the newest requests in memory.
package scripted
