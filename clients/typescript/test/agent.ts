/** An agent of the AI SDK that can send letters. clients_test.go runs it. */

import {appendFileSync} from 'node:fs'
import {createOpenAI} from '@ai-sdk/openai'
import {generateText, isStepCount, tool} from 'ai'
import {z} from 'zod'
import {Gate} from 'vedette-gate'
import {guardTools} from 'vedette-gate/ai'

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
const {text} = await generateText({
  model: createOpenAI({baseURL: env('MODEL_URL'), apiKey: 'none'}).chat('m'),
  tools: guardTools(gate, {send_email: sendEmail}, {request: prompt}),
  stopWhen: isStepCount(4), maxRetries: 0, prompt,
})
console.log(text)
