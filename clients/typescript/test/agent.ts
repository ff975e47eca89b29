/** An agent of the AI SDK that can send letters. clients_test.go runs it. */

import {appendFileSync} from 'node:fs'
import {createInterface} from 'node:readline/promises'
import {createOpenAI} from '@ai-sdk/openai'
import {generateText, isStepCount, streamText, tool, type ModelMessage} from 'ai'
import {z} from 'zod'
import {Gate} from 'vedette-gate'
import {guardTools, toolApproval} from 'vedette-gate/ai'

const env = (name: string): string => process.env[name] ?? ''
const prompt = process.argv[2] ?? ''
const gate = new Gate({conversation: env('CONVERSATION'), approvalTime: Number(env('APPROVAL_TIME'))})
const sendEmail = tool({
  description: 'Send a letter.',
  inputSchema: z.object({to: z.string(), body: z.string()}),
  execute: async ({to, body}: {to: string; body: string}) => {
    appendFileSync(env('RUNS'), JSON.stringify({to, body}) + '\n')
    return `sent to ${to}`
  },
})
const about = {request: prompt}
const settings = {
  model: createOpenAI({baseURL: env('MODEL_URL'), apiKey: 'none'}).chat('m'),
  tools: guardTools(gate, {send_email: sendEmail}, about),
  stopWhen: isStepCount(4), maxRetries: 0,
  ...(env('APPROVES') ? {toolApproval: toolApproval(gate, about), experimental_toolApprovalSecret: 'a secret of this program'} : {}),
}

/** Runs the model once, as a stream where STREAMS is set. */
async function run(messages: ModelMessage[]) {
  if (!env('STREAMS')) {
    const done = await generateText({...settings, messages})
    return {text: done.text, content: done.content, messages: done.responseMessages}
  }
  const stream = streamText({...settings, messages})
  return {text: await stream.text, content: await stream.content, messages: await stream.responseMessages}
}

const messages: ModelMessage[] = [{role: 'user', content: prompt}]
for (;;) {
  const done = await run(messages)
  const requests = done.content.flatMap((part) => (part.type === 'tool-approval-request' && !part.isAutomatic ? [part] : []))
  if (requests.length === 0) {
    console.log(done.text)
    break
  }
  console.log('interrupted')
  const input = createInterface({input: process.stdin})
  await input[Symbol.asyncIterator]().next() // until the person has answered
  input.close()
  messages.push(...done.messages, {
    role: 'tool', content: requests.map((r) => ({type: 'tool-approval-response' as const, approvalId: r.approvalId, approved: true})),
  })
}
