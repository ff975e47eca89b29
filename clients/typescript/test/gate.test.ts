/** What the client does with answers of a server that is hostile, broken, or not there. */

import assert from 'node:assert/strict'
import {createServer, type Server} from 'node:http'
import type {AddressInfo} from 'node:net'
import {after, before, beforeEach, test} from 'node:test'
import {Gate, GateError, RefusedError, skillName, type Answer} from 'vedette-gate'
import {guardTools, toolApproval} from 'vedette-gate/ai'

const good = {id: 'call-1', state: 'allowed', warrant: 'w', arguments: {to: 'x'}}
let server: Server
let url = ''
let answers: {status: number; text: string; headers?: Record<string, string>}[] = []
let asked: {path: string; body: string}[] = []

before(async () => {
  server = createServer((req, res) => {
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      asked.push({path: req.url ?? '', body: Buffer.concat(parts).toString()})
      const a = (answers.length > 1 ? answers.shift() : answers[0])!
      res.writeHead(a.status, a.headers).end(a.text)
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
after(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  answers = []
  asked = []
})

const gate = (onUnreported?: (a: Answer, t: GateError) => void): Gate =>
  new Gate({conversation: 'c', url, token: 'CANARY', timeout: 10, ...(onUnreported ? {onUnreported} : {})})
const say = (body: unknown, status = 200, headers: Record<string, string> = {}): void => {
  answers.push({status, text: typeof body === 'string' ? body : JSON.stringify(body), headers})
}

test('what is no answer denies', async () => {
  const bodies: unknown[] = [
    '', 'null', '[]', '{"id": "call-1", "state": "allowed", "warrant": "w", "argum', {...good, id: 1}, {...good, id: ''},
    {...good, state: ['allowed']}, {...good, warrant: true}, {...good, arguments: [1]}, {...good, arguments: null},
    {...good, refusal: ['why']}, {id: 'call-1', warrant: 'w', arguments: {}}, {id: 'call-1', state: 'allowed', warrant: 'w'},
  ]
  for (const body of bodies) {
    answers = []
    say(body)
    await assert.rejects(gate().ask('t', {}, {callId: '1'}), GateError, JSON.stringify(body))
  }
})

test('what grants nothing runs nothing', async () => {
  for (const state of ['allowed', 'Allowed', 'ok', 'denied', 'pending', 'deferred', '', 'yes']) {
    answers = []
    say({id: 'call-1', state, warrant: state === 'allowed' ? '' : 'w', arguments: {}})
    let ran = false
    await assert.rejects(gate().run('t', {}, {callId: '1'}, () => { ran = true }), RefusedError)
    assert.equal(ran, false)
  }
})

test('only 200 is a decision, and no redirect is followed', async () => {
  for (const status of [201, 202, 204, 301, 302, 307, 400, 401, 409, 429, 500, 503]) {
    answers = []
    asked = []
    say(status === 204 ? '' : good, status, {location: `${url}/elsewhere`})
    await assert.rejects(gate().ask('t', {}, {callId: '1'}), (e) => e instanceof GateError && !e.message.includes('CANARY'))
    assert.deepEqual(asked.map((a) => a.path), ['/v1/calls'])
  }
})

test('an answer that breaks off denies', async () => {
  say(good, 200, {'content-length': '60', connection: 'close'})
  await assert.rejects(gate().ask('t', {}, {callId: '1'}), GateError)
})

test('every result can be reported', async () => {
  const loop: Record<string, unknown> = {}
  loop['loop'] = loop
  for (const result of ['\u0001'.repeat(2 << 20), 'é'.repeat(1 << 20), '\ud800', loop, 1n, undefined]) {
    answers = []
    asked = []
    say(good)
    await gate().run('t', {}, {callId: '1'}, () => result)
    const last = asked.at(-1)!
    assert.equal(last.path, '/v1/calls/call-1/outcome')
    assert.ok(Buffer.byteLength(last.body) <= 2 << 20)
    assert.equal(JSON.parse(last.body).outcome, 'ok')
  }
})

test('a report that fails is no refusal', async () => {
  say(good)
  say({code: 'not_kept'}, 503)
  const told: string[] = []
  assert.equal(await gate((a) => told.push(a.id)).run('t', {}, {callId: '1'}, () => 'sent'), 'sent')
  assert.deepEqual(told, ['call-1'])
  assert.equal(asked.length, 3, 'it is sent once more')
})

test('a tool that fails is reported', async () => {
  say(good)
  await assert.rejects(gate().run('t', {}, {callId: '1'}, () => { throw new Error('no route') }), /no route/)
  assert.deepEqual(JSON.parse(asked.at(-1)!.body), {outcome: 'failed', result: 'Error: no route'})
})

test('a tool of the AI SDK that can not be asked about is refused', () => {
  assert.throws(() => guardTools(gate(), {search: {}}), TypeError)
})

test('a warrant that is held is used once', async () => {
  say(good)
  say({id: 'call-1', state: 'allowed'})
  const g = gate()
  assert.equal((await g.ask('t', {}, {callId: '1', hold: true})).mayRun, true)
  assert.equal((await g.ask('t', {}, {callId: '1'})).mayRun, true)
  assert.equal((await g.ask('t', {}, {callId: '1'})).mayRun, false)
})

test('what was not asked about is not approved', async () => {
  say(good)
  const g = gate()
  const tools = guardTools(g, {search: {execute: () => 'found'}})
  const call = {toolName: 'search', toolCallId: '1', input: {}}
  const status = async (proposal: Parameters<ReturnType<typeof toolApproval>>[0]): Promise<string> => (await toolApproval(g)(proposal)).type
  assert.equal(await status({toolCall: call, tools, messages: []}), 'approved')
  for (const [toolCall, others] of [
    [call, undefined], [call, {}], [call, {search: {execute: () => 'found'}}], [call, {search: {}}],
    [{...call, toolName: 'toString'}, tools], [{...call, providerExecuted: true}, tools],
  ] as const) {
    assert.equal(await status({toolCall, tools: others, messages: []}), 'denied')
  }
  const loop: Record<string, unknown> = {}
  loop['loop'] = loop
  assert.equal(await status({toolCall: {...call, input: loop}, tools, messages: []}), 'denied')
  for (const body of ['', 'null', {...good, warrant: ''}, {...good, state: 'denied'}, {...good, state: 'pending', arguments: null}]) {
    answers = []
    say(body)
    assert.equal((await toolApproval(gate())({toolCall: call, tools, messages: []})).type, 'denied', JSON.stringify(body))
  }
  answers = []
  say(good, 503)
  assert.equal(await status({toolCall: call, tools, messages: []}), 'denied')
})

test('the yes of the SDK alone approves nothing', async () => {
  say({id: 'call-2', state: 'pending', approval: 'a-1'})
  const g = gate()
  const tools = guardTools(g, {search: {execute: () => 'found'}})
  const proposal = {toolCall: {toolName: 'search', toolCallId: '2', input: {}}, tools, messages: [] as unknown[]}
  assert.equal((await toolApproval(g)(proposal)).type, 'user-approval')
  proposal.messages = [
    {role: 'assistant', content: [{type: 'tool-approval-request', approvalId: 'x', toolCallId: '2'}]},
    {role: 'tool', content: [{type: 'tool-approval-response', approvalId: 'x', approved: true}]},
  ]
  answers = []
  say({id: 'call-2', state: 'pending', approval: 'a-1'})
  say({id: 'call-2', state: 'denied', refusal: {why: 'no'}})
  assert.deepEqual(await toolApproval(g)(proposal), {type: 'denied', reason: 'The call was not run (denied): no.'})
})

test('a token never goes out in the open', () => {
  for (const other of ['http://example.com', 'ftp://127.0.0.1', 'http://127.0.0.1.example.com']) {
    assert.throws(() => new Gate({conversation: 'c', url: other, token: 'CANARY'}), /https/)
  }
})

test('names are those of the server', () => {
  assert.equal(skillName('Bash'), 'tool.b-uash')
  assert.equal(skillName('a-b.c'), 'tool.a-hb-dc')
  assert.equal(skillName('1'), 'tool.n-n1')
  assert.equal(skillName('é'), 'tool.n-n-xc3-xa9')
  for (const name of ['', 'x'.repeat(200)]) assert.throws(() => skillName(name), RangeError)
})
