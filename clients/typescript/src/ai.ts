/**
 * Vedette before the tools of the AI SDK.
 *
 *     const tools = guardTools(new Gate({conversation: 'c-17', approvalTime: 300}), {send_email: tool({…})}, {request: text})
 *     await generateText({model, tools, prompt: text})
 *
 * Each tool's `execute` asks first, runs with the arguments that were allowed, and reports what became
 * of it. A call that may not run throws, and the SDK gives the model its text as the tool's error.
 *
 * With `toolApproval` of AI SDK 7 a call that waits for a person ends the run with the SDK's own approval
 * request, and a denied one is never executed:
 *
 *     await generateText({model, tools, toolApproval: toolApproval(gate, {request: text}), messages})
 *
 * Resume it with a `tool-approval-response`, once the person has answered Vedette. The SDK's own yes lets
 * nothing run.
 *
 * What not to do: don't hand the SDK tools with an `execute` beside the guarded ones. Don't give
 * `toolApproval` another gate than `guardTools`.
 */

import {Gate, GateError, RefusedError} from './index.js'

interface Executable {
  execute?: ((input: never, options: never) => unknown) | undefined
}

interface CallOptions {
  toolCallId: string
  abortSignal?: AbortSignal
}

const guarded = new WeakSet<object>() // each `execute` that asks first
const SETTLE = 10 // seconds that a person's yes may take until it counts

/** Returns the tools, each with an `execute` that asks first. A tool without `execute` is refused. */
export function guardTools<T extends Record<string, Executable>>(gate: Gate, tools: T, about: {request?: string; turn?: string} = {}): T {
  const out: Record<string, Executable> = {}
  for (const [name, tool] of Object.entries(tools)) {
    const execute = tool.execute as ((input: unknown, options: CallOptions) => unknown) | undefined
    if (!execute) throw new TypeError(`the tool ${name} has no execute: what the SDK does not run can't be asked about`)
    const asking = async (input: unknown, options: CallOptions): Promise<unknown> => {
      const question = {callId: options.toolCallId, ...about, ...(options.abortSignal ? {signal: options.abortSignal} : {})}
      return gate.run(name, input as Record<string, unknown>, question, async (args) => collect(execute.call(tool, args, options)))
    }
    guarded.add(asking)
    out[name] = {...tool, execute: asking} as Executable
  }
  return out as T
}

/** What the SDK says of a call for which it wants an approval. */
export interface Proposal {
  toolCall: {toolName: string; toolCallId: string; input: unknown; providerExecuted?: boolean | undefined}
  tools: Record<string, unknown> | undefined
  messages: readonly unknown[]
}

/** What the SDK takes for an answer. */
export type ApprovalStatus = {type: 'approved'} | {type: 'denied'; reason: string} | {type: 'user-approval'; reason: string}

/** Returns a function for `toolApproval` of AI SDK 7. The tools must be those that guardTools returned. */
export function toolApproval(
  gate: Gate, about: {request?: string; turn?: string} = {},
): (proposal: Proposal) => Promise<ApprovalStatus> {
  return async ({toolCall, tools, messages}) => {
    const {toolName, toolCallId, input} = toolCall
    try {
      if (toolCall.providerExecuted || !isGuarded(tools, toolName)) {
        return {type: 'denied', reason: `The call was not run: Vedette does not stand before ${toolName}.`}
      }
      const resumes = isAnswered(messages, toolCallId)
      const question = {callId: toolCallId, ...about, hold: true, approvalTime: resumes ? SETTLE : 0}
      const answer = await gate.ask(toolName, input as Record<string, unknown>, question)
      if (answer.mayRun) return {type: 'approved'}
      // The SDK runs what it was told to ask about once its own user says yes, so a second time is a no.
      if (answer.isPending && !resumes) return {type: 'user-approval', reason: answer.text}
      return {type: 'denied', reason: answer.text}
    } catch (trouble) {
      const why = trouble instanceof GateError ? trouble.message : 'the call could not be asked about'
      return {type: 'denied', reason: `The call was not run: ${why}.`}
    }
  }
}

/** Whether a tool is one that guardTools returned. */
function isGuarded(tools: Record<string, unknown> | undefined, name: string): boolean {
  if (!tools || !Object.hasOwn(tools, name)) return false
  const execute = (tools[name] as Executable | undefined)?.execute
  return execute !== undefined && guarded.has(execute)
}

/** Whether the messages hold an answer to the SDK's question about a call. */
function isAnswered(messages: readonly unknown[], callId: string): boolean {
  const parts = messages.flatMap((m) => {
    const content = (m as {content?: unknown}).content
    return Array.isArray(content) ? (content as {type?: string; approvalId?: string; toolCallId?: string}[]) : []
  })
  const ids = new Set(parts.filter((p) => p.type === 'tool-approval-request' && p.toolCallId === callId).map((p) => p.approvalId))
  return parts.some((p) => p.type === 'tool-approval-response' && ids.has(p.approvalId))
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
