/**
 * Vedette before the tools of the AI SDK.
 *
 *     const tools = guardTools(new Gate({conversation: 'c-17', approvalTime: 300}), {send_email: tool({…})}, {request: text})
 *     await generateText({model, tools, prompt: text})
 *
 * Each tool's `execute` asks first, runs with the arguments that were allowed, and reports what became
 * of it. A call that may not run throws, and the SDK gives the model its text as the tool's error.
 *
 * What not to do: don't hand the SDK tools with an `execute` beside the guarded ones.
 */

import {Gate, GateError, RefusedError} from './index.js'

interface Executable {
  execute?: ((input: never, options: never) => unknown) | undefined
}

interface CallOptions {
  toolCallId: string
  abortSignal?: AbortSignal
}

/** Returns the tools, each with an `execute` that asks first. A tool without `execute` is refused. */
export function guardTools<T extends Record<string, Executable>>(gate: Gate, tools: T, about: {request?: string; turn?: string} = {}): T {
  const out: Record<string, Executable> = {}
  for (const [name, tool] of Object.entries(tools)) {
    const execute = tool.execute as ((input: unknown, options: CallOptions) => unknown) | undefined
    if (!execute) throw new TypeError(`the tool ${name} has no execute: what the SDK does not run can't be asked about`)
    out[name] = {
      ...tool,
      execute: async (input: unknown, options: CallOptions) => {
        const question = {callId: options.toolCallId, ...about, ...(options.abortSignal ? {signal: options.abortSignal} : {})}
        return gate.run(name, input as Record<string, unknown>, question, async (args) => collect(execute.call(tool, args, options)))
      },
    } as Executable
  }
  return out as T
}

/** What an `execute` comes to: the last value where it yields several. */
async function collect(made: unknown): Promise<unknown> {
  const value = await made
  if (typeof value !== 'object' || value === null || !(Symbol.asyncIterator in value)) return value
  let last: unknown
  for await (const part of value as AsyncIterable<unknown>) last = part
  return last
}

export {Gate, GateError, RefusedError}
