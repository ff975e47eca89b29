/**
 * The packages of npm against the proxy: each scenario, streamed and whole, as the package's own helper ends it.
 * proxy_test.go runs it: argv names a client, SCENARIOS what the provider shall answer.
 */

import {createAnthropic} from '@ai-sdk/anthropic'
import {createOpenAI} from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import {generateText, jsonSchema, streamText, type LanguageModel, type ToolSet} from 'ai'
import OpenAI from 'openai'

/** What a client's helper ends up with. */
interface Ending {
  text: string
  calls: string[]
  finish: string | null
  error: string
}

interface Request {
  words: string
  streamed: boolean
  headers: Record<string, string>
}

const env = (name: string): string => process.env[name] ?? ''
const token = env('VEDETTE_TOKEN')
const openaiURL = env('VEDETTE_URL') + '/proxy/openai/v1'
const anthropicURL = env('VEDETTE_URL') + '/proxy/anthropic'
const schema = {
  type: 'object' as const, properties: {command: {type: 'string'}}, required: ['command'], additionalProperties: false,
}
const show = (name: string, args: unknown): string => name + ' ' + (typeof args === 'string' ? args : JSON.stringify(args))

async function chat({words, streamed, headers}: Request): Promise<Ending> {
  const client = new OpenAI({baseURL: openaiURL, apiKey: token, maxRetries: 0, defaultHeaders: headers})
  const question = {
    model: 'm', messages: [{role: 'user' as const, content: words}],
    tools: [{type: 'function' as const, function: {name: 'run', parameters: schema}}],
  }
  const end = streamed
    ? await client.chat.completions.stream(question).finalChatCompletion()
    : await client.chat.completions.create(question)
  const choice = end.choices[0]
  const calls = (choice?.message.tool_calls ?? []).map(c => c.type === 'function' ? show(c.function.name, c.function.arguments) : c.type)
  return {text: choice?.message.content ?? '', calls, finish: choice?.finish_reason ?? null, error: ''}
}

async function responses({words, streamed, headers}: Request): Promise<Ending> {
  const client = new OpenAI({baseURL: openaiURL, apiKey: token, maxRetries: 0, defaultHeaders: headers})
  const question = {
    model: 'm', input: words, tools: [{type: 'function' as const, name: 'run', parameters: schema, strict: false}],
  }
  const end = streamed ? await client.responses.stream(question).finalResponse() : await client.responses.create(question)
  const calls = end.output.flatMap(item => item.type === 'function_call' ? [show(item.name, item.arguments)] : [])
  return {text: end.output_text, calls, finish: end.status ?? null, error: ''}
}

async function messages({words, streamed, headers}: Request): Promise<Ending> {
  const client = new Anthropic({baseURL: anthropicURL, apiKey: token, maxRetries: 0, defaultHeaders: headers})
  const question = {
    model: 'm', max_tokens: 100, messages: [{role: 'user' as const, content: words}], tools: [{name: 'run', input_schema: schema}],
  }
  const end = streamed ? await client.messages.stream(question).finalMessage() : await client.messages.create(question)
  const text = end.content.map(block => block.type === 'text' ? block.text : '').join('')
  const calls = end.content.flatMap(block => block.type === 'tool_use' ? [show(block.name, block.input)] : [])
  return {text, calls, finish: end.stop_reason, error: ''}
}

/** withModel is the ai package with one of its providers. */
const withModel = (make: (headers: Record<string, string>) => LanguageModel) => async ({words, streamed, headers}: Request): Promise<Ending> => {
  const question = {
    model: make(headers), prompt: words, maxRetries: 0,
    tools: {run: {description: 'Run a command.', inputSchema: jsonSchema(schema)}} as ToolSet,
  }
  if (!streamed) {
    const end = await generateText(question)
    return {text: end.text, calls: end.toolCalls.map(c => show(c.toolName, c.input)), finish: end.finishReason, error: ''}
  }
  let error = ''
  const stream = streamText({...question, onError: e => { error = name(e.error) }})
  await stream.consumeStream()
  if (error !== '') return {...await partial(stream.textStream), error}
  const calls = (await stream.toolCalls).map(c => show(c.toolName, c.input))
  return {text: await stream.text, calls, finish: await stream.finishReason, error}
}

async function partial(stream: AsyncIterable<string>): Promise<Ending> {
  let text = ''
  for await (const piece of stream) text += piece
  return {text, calls: [], finish: null, error: ''}
}

function name(error: unknown): string {
  if (!(error instanceof Error)) return 'error: ' + JSON.stringify(error)
  return error.constructor.name + ': ' + error.message
}

const openaiModel = (headers: Record<string, string>) => createOpenAI({baseURL: openaiURL, apiKey: token, headers})
const clients: Record<string, (r: Request) => Promise<Ending>> = {
  'openai-chat': chat,
  'openai-responses': responses,
  'anthropic': messages,
  'ai-chat': withModel(headers => openaiModel(headers).chat('m')),
  'ai-responses': withModel(headers => openaiModel(headers).responses('m')),
  'ai-anthropic': withModel(headers => createAnthropic({baseURL: anthropicURL + '/v1', apiKey: token, headers})('m')),
}

const client = process.argv[2] ?? ''
const run = clients[client]
if (run === undefined) throw new Error('no client is named ' + client)

async function end(scenario: string, streamed: boolean): Promise<Ending> {
  const headers = {'X-Vedette-Conversation': [env('CONVERSATION'), client, scenario, streamed ? 'streamed' : 'whole'].join('-')}
  try {
    return await run!({words: 'Do it. scenario: ' + scenario, streamed, headers})
  } catch (error) {
    return {text: '', calls: [], finish: null, error: name(error)}
  }
}

for (const scenario of env('SCENARIOS').split(',')) {
  for (const streamed of [true, false]) {
    let got = await end(scenario, streamed)
    console.log(JSON.stringify({scenario, streamed, ...got}))
    if (scenario !== 'ask' || streamed) continue
    // A whole answer doesn't wait for a person: the same request is sent again until the approved call passes.
    for (let i = 0; got.calls.length === 0 && i < 1000; i++) {
      await new Promise(done => setTimeout(done, 200))
      got = await end(scenario, streamed)
    }
    console.log(JSON.stringify({scenario: 'ask_again', streamed, ...got}))
  }
}
