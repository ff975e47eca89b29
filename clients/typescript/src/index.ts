/**
 * Asks Vedette before a tool of an agent runs, and reports what became of it.
 *
 *     const gate = new Gate({conversation: 'c-17'}) // VEDETTE_URL and VEDETTE_TOKEN
 *     const answer = await gate.ask('send_email', {to: 'bob@example.com'}, {callId: 'call_1', request: 'Mail Bob.'})
 *     if (answer.mayRun) await gate.report(answer, {ok: true, result: await send(answer.arguments)})
 *
 * Any trouble denies: without an answer that can be read, `ask` throws a GateError. A warrant is
 * given once for each call id; a repeated question is answered without one, and `mayRun` is false.
 *
 * What not to do: don't run a tool whose answer has no warrant, don't give two calls one id, and
 * don't catch a GateError in order to run the tool all the same.
 */

const MAX_ANSWER = 4 << 20
const MAX_RESULT = 1 << 20
const MAX_OUTCOME = 2_000_000 // of a whole report, below the server's bound
const CUT_RESULT = 256 << 10 // of a result that is all escapes: six bytes each
const MAX_NAME = 128
const WAIT = 25 // seconds that one question waits for a person, below what proxies cut off

/** The server gave no decision. Nothing may run. */
export class GateError extends Error {
  override name = 'GateError'
  constructor(message: string, readonly status = 0, readonly code = '') {
    super(message)
  }
}

/** A call may not run. Its message is for the model that proposed the call. */
export class RefusedError extends Error {
  override name = 'RefusedError'
  constructor(readonly answer: Answer) {
    super(answer.text)
  }
}

/** Where a call stands. */
export class Answer {
  constructor(
    readonly id: string,
    readonly state: string,
    readonly args: Record<string, unknown>,
    readonly approval: string,
    readonly link: string,
    readonly note: string,
    private readonly refusal: {why?: unknown; do?: unknown},
    readonly warrant: string,
  ) {}

  /** Whether the tool may run now, once, with `arguments`. */
  get mayRun(): boolean {
    return this.state === 'allowed' && this.warrant !== ''
  }

  /** What was allowed. A rule may have changed what was proposed. */
  get arguments(): Record<string, unknown> {
    return this.args
  }

  /** Whether a person is asked. Ask again under the same id. */
  get isPending(): boolean {
    return this.state === 'pending'
  }

  /** Why the call may not run, in words for a model. It holds no argument. */
  get text(): string {
    if (this.mayRun) return ''
    if (this.isPending) {
      return `The call was not run: it waits for a person's approval ${this.approval}${this.link ? ` at ${this.link}` : ''}.`
    }
    if (this.state === 'allowed') return 'The call was not run: it was allowed before, and its warrant was given then.'
    const why = typeof this.refusal.why === 'string' ? this.refusal.why : 'it was not allowed'
    const advice = typeof this.refusal.do === 'string' ? this.refusal.do : ''
    return `The call was not run (${this.state}): ${why}. ${advice}`.trim()
  }
}

export interface GateOptions {
  /** The conversation, in your own words. Taint and limits are kept by it. */
  conversation: string
  /** Default: VEDETTE_URL, then http://127.0.0.1:8420. */
  url?: string
  /** Default: VEDETTE_TOKEN. */
  token?: string
  agent?: string
  /** Skills of tools. A tool that isn't there is `tool.` and its name: see skillName. */
  skills?: Record<string, string>
  /** How many seconds `ask` waits for a person in all. Afterwards the answer is pending. Default 0. */
  approvalTime?: number
  /** How many seconds a question may take besides. Default 30. */
  timeout?: number
  /** Told where `run` could not report a call that ran. Default: console.warn. */
  onUnreported?: (answer: Answer, trouble: GateError) => void
}

export interface Question {
  callId: string
  request?: string
  turn?: string
  mission?: string
  approvalTime?: number
  signal?: AbortSignal
  /** Keeps a warrant for the next ask of the same call: it is given once. */
  hold?: boolean
}

/** Asks one Vedette server about the calls of one conversation. */
export class Gate {
  readonly #url: string
  readonly #token: string
  readonly #options: GateOptions
  readonly #held = new Map<string, Answer>() // warrants that the next ask of the same call gets

  constructor(options: GateOptions) {
    const url = new URL(options.url ?? process.env['VEDETTE_URL'] ?? 'http://127.0.0.1:8420')
    const loopback = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback)) {
      throw new TypeError('VEDETTE_URL must be https, or http to this machine')
    }
    this.#url = url.href.replace(/\/+$/, '')
    this.#token = options.token ?? process.env['VEDETTE_TOKEN'] ?? ''
    if (!this.#token) throw new TypeError('VEDETTE_TOKEN is missing; create one with: vedette token create --scope call')
    if (!options.conversation) throw new TypeError('a conversation needs an id: taint and limits are kept by it')
    this.#options = options
  }

  /** Asks whether a tool may run. It waits for a person up to approvalTime seconds. */
  async ask(tool: string, args: Record<string, unknown>, question: Question): Promise<Answer> {
    let answer = await this.#ask(tool, args, question)
    const kept = this.#held.get(answer.id)
    this.#held.delete(answer.id)
    if (answer.state === 'allowed' && !answer.mayRun && kept) answer = kept
    if (question.hold && answer.mayRun) this.#held.set(answer.id, answer)
    return answer
  }

  async #ask(tool: string, args: Record<string, unknown>, question: Question): Promise<Answer> {
    const o = this.#options
    const body: Record<string, unknown> = {
      conversation: o.conversation, call_id: question.callId, skill_name: o.skills?.[tool] ?? skillName(tool), arguments: args,
    }
    for (const [key, value] of [
      ['agent_id', o.agent], ['original_request', question.request], ['turn', question.turn], ['agent_mission', question.mission],
    ] as const) {
      if (value) body[key] = value
    }
    const end = Date.now() + 1000 * (question.approvalTime ?? o.approvalTime ?? 0)
    for (;;) {
      const left = (end - Date.now()) / 1000
      const wait = Math.max(0, Math.min(WAIT, Math.floor(left)))
      const answer = readAnswer(await this.#post('/v1/calls', writeQuestion(body, wait), wait, question.signal))
      if (!answer.isPending || left <= 0) return answer
      if (wait === 0) await new Promise((done) => setTimeout(done, Math.min(left * 1000, 200)))
    }
  }

  /**
   * Reports what became of a call that ran. The result taints the conversation as its skill says. It is
   * sent once more where the server gave no answer. A GateError says that it was not taken: the call is
   * unknown to the server after its expiry, and must not run again.
   */
  async report(answer: Answer, outcome: {ok: boolean; result?: unknown}): Promise<void> {
    const path = `/v1/calls/${encodeURIComponent(answer.id)}/outcome`
    const body = writeOutcome(outcome.ok ? 'ok' : 'failed', textOfResult(outcome.result))
    try {
      await this.#post(path, body, 0)
    } catch (trouble) {
      if (!(trouble instanceof GateError) || ![0, 429, 503].includes(trouble.status)) throw trouble
      await this.#post(path, body, 0) // the same report twice is one report
    }
  }

  /**
   * Asks, runs, and reports. It throws a RefusedError where the call may not run. A report that fails
   * goes to onUnreported, since the call ran.
   */
  async run<T>(
    tool: string, args: Record<string, unknown>, question: Question, execute: (args: Record<string, unknown>) => T | Promise<T>,
  ): Promise<Awaited<T>> {
    const answer = await this.ask(tool, args, question)
    if (!answer.mayRun) throw new RefusedError(answer)
    let result: Awaited<T>
    try {
      result = await execute(answer.arguments)
    } catch (failure) {
      await this.#reportQuietly(answer, {ok: false, result: String(failure)})
      throw failure
    }
    await this.#reportQuietly(answer, {ok: true, result})
    return result
  }

  async #reportQuietly(answer: Answer, outcome: {ok: boolean; result?: unknown}): Promise<void> {
    try {
      await this.report(answer, outcome)
    } catch (failure) {
      const trouble = failure instanceof GateError ? failure : new GateError('the report could not be written')
      const tell = this.#options.onUnreported ?? ((a: Answer, t: GateError) => {
        console.warn(`the outcome of call ${a.id} was not reported, so the server will take it for unknown: ${t.message}`)
      })
      tell(answer, trouble)
    }
  }

  async #post(path: string, body: string, wait: number, signal?: AbortSignal): Promise<string> {
    const own = AbortSignal.timeout(1000 * ((this.#options.timeout ?? 30) + wait))
    let response: Response
    let text: string
    try {
      response = await fetch(this.#url + path, {
        method: 'POST', redirect: 'error', body, signal: signal ? AbortSignal.any([own, signal]) : own,
        headers: {authorization: `Bearer ${this.#token}`, 'content-type': 'application/json'},
      })
      text = await readText(response)
    } catch (failure) {
      throw new GateError(`Vedette can't be asked (${failure instanceof Error ? failure.name : 'Error'}); nothing may run`)
    }
    if (response.status !== 200) throw describeProblem(response.status, text)
    return text
  }
}

async function readText(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of response.body ?? []) {
    size += part.length
    if (size > MAX_ANSWER) throw new RangeError('the answer is too long')
    parts.push(part)
  }
  return new TextDecoder('utf-8', {fatal: true}).decode(Buffer.concat(parts))
}

/** Reads an answer. What can't be read grants nothing. */
function readAnswer(text: string): Answer {
  let body: Record<string, unknown>
  try {
    body = JSON.parse(text) as Record<string, unknown>
  } catch {
    throw unreadable()
  }
  if (!isObject(body)) throw unreadable()
  const {id, state, warrant = '', arguments: args = {}, refusal = {}} = body
  if (typeof id !== 'string' || id === '' || typeof state !== 'string' || typeof warrant !== 'string' || !isObject(args) || !isObject(refusal)) {
    throw unreadable()
  }
  if (warrant && !isObject(body['arguments'])) throw unreadable()
  return new Answer(id, state, args, textOf(body['approval']), textOf(body['link']), textOf(body['note']), refusal, warrant)
}

function unreadable(): GateError {
  return new GateError("Vedette's answer can't be read; nothing may run")
}

function isObject(v: unknown): v is Record<string, unknown> {
  return typeof v === 'object' && v !== null && !Array.isArray(v)
}

function textOf(v: unknown): string {
  return typeof v === 'string' ? v : ''
}

/** The error of an answer that is no 200 (RFC 9457). */
function describeProblem(status: number, text: string): GateError {
  let code = ''
  let detail = ''
  try {
    const body = JSON.parse(text) as Record<string, unknown>
    code = textOf(body['code'])
    detail = textOf(body['detail']) || textOf(body['title'])
  } catch {
    // its status says enough
  }
  return new GateError(`Vedette answered ${status}${detail ? `: ${detail}` : ''}; nothing may run`, status, code)
}

function writeQuestion(body: Record<string, unknown>, wait: number): string {
  try {
    return JSON.stringify({...body, wait_seconds: wait})
  } catch {
    throw new GateError("the arguments can't be written as JSON; nothing may run")
  }
}

/** A result as text: JSON, or what can be printed of it. */
function textOfResult(result: unknown): string {
  if (typeof result === 'string') return result
  try {
    return JSON.stringify(result) ?? ''
  } catch {
    return String(result)
  }
}

/** The body of a report that the server's bounds let through. Its result may be cut. */
function writeOutcome(outcome: string, text: string): string {
  const data = new TextEncoder().encode(text)
  let body = ''
  for (const most of [MAX_RESULT, CUT_RESULT]) {
    const result = new TextDecoder().decode(data.subarray(0, most)) // a half character at the end is replaced
    body = JSON.stringify({outcome, result})
    if (Buffer.byteLength(body) <= MAX_OUTCOME) break
  }
  return body
}

/**
 * Returns the skill that stands for a tool: `tool.` and the name, escaped one to one. Capitals become
 * b-u, hyphens -h, dots -d, other bytes -xHH: Bash is tool.b-uash.
 */
export function skillName(tool: string): string {
  let out = /^[A-Za-z]/.test(tool) ? '' : 'n-n'
  for (const byte of new TextEncoder().encode(tool)) {
    const char = String.fromCharCode(byte)
    if (/[A-Z]/.test(char)) out += `${char.toLowerCase()}-u`
    else if (/[a-z0-9_]/.test(char)) out += char
    else if (char === '-') out += '-h'
    else if (char === '.') out += '-d'
    else out += `-x${byte.toString(16).padStart(2, '0')}`
  }
  if (tool === '' || out.length + 5 > MAX_NAME) throw new RangeError("the tool's name is empty or too long for a skill; map it with skills")
  return `tool.${out}`
}
