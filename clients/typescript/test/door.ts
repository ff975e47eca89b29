/** The openai package against the door for chat interfaces. door_test.go runs it. */

import OpenAI, {APIError} from 'openai'

const env = (name: string): string => process.env[name] ?? ''
const baseURL = env('VEDETTE_URL') + '/assistants/v1'
const client = new OpenAI({baseURL, apiKey: env('CHAT_TOKEN'), maxRetries: 0})
const question = {model: 'vedette', messages: [{role: 'user' as const, content: process.argv[2] ?? ''}]}
const whole = await client.chat.completions.create(question)
let stream = ''
let streamFinish: string | null = null
for await (const chunk of await client.chat.completions.create({...question, stream: true})) {
  stream += chunk.choices[0]?.delta.content ?? ''
  streamFinish = chunk.choices[0]?.finish_reason ?? streamFinish
}

async function refused(changes: object, apiKey = env('CHAT_TOKEN')): Promise<string> {
  try {
    await new OpenAI({baseURL, apiKey, maxRetries: 0}).chat.completions.create({...question, ...changes})
  } catch (error) {
    if (error instanceof APIError) return error.constructor.name
    throw error
  }
  return 'taken'
}

const models: string[] = []
for await (const model of client.models.list()) models.push(model.id)
console.log(JSON.stringify({
  models, whole: whole.choices[0]?.message.content, finish: whole.choices[0]?.finish_reason, stream, stream_finish: streamFinish,
  wrong_key: await refused({}, 'vdt_' + 'a'.repeat(43)), wrong_model: await refused({model: 'no-such-assistant'}),
  wrong_request: await refused({messages: []}),
}))
