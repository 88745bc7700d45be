import { expect, test } from 'vitest'
import { z } from 'zod'
import { UserFacingError } from '../../src/base/errors/perdure-error.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow, type Flow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { childIdOf } from '../../src/log/child-call.ts'
import type { Route } from '../../src/server/route.ts'
import { allRoutes } from '../../src/server/routes/all-routes.ts'
import { storeSnapshots } from '../../src/snapshot/persistence.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { ask, refund } from '../support/asking-tools.ts'
import { type Started, startServer } from './start-server.ts'

/** No rule of redaction knows it: it is only hidden where pages are told nothing of what failed. */
const inside = 'vault-7 is corrupt'

type Case =
  /** What is asked for; with `showErrors`, the answer has what failed. */
  | { readonly body?: unknown; readonly params?: Partial<Ids> }
  /** The answer never has it. */
  | { readonly body?: unknown; readonly params?: Partial<Ids>; readonly hasNone: string }
  /** Why the question does not arise. */
  | { readonly why: string }

const uiMessage = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'query' }] }

/** Every route of the server. One that is missing here fails the test below. */
const cases: Readonly<Record<string, (ids: Ids) => Case>> = {
  health: () => ({ why: 'it tells nothing about anybody' }),
  ready: () => ({ why: 'it tells nothing about anybody' }),
  openApi: () => ({ why: 'it tells nothing about anybody' }),
  listConversations: () => ({ hasNone: 'it lists no errors' }),
  inbox: () => ({ hasNone: 'what waits has not failed' }),
  stats: () => ({ why: 'it is for operators, and answers codes of errors' }),
  metrics: () => ({ why: 'it is for operators, and answers codes of errors' }),
  totals: () => ({ hasNone: 'it answers numbers' }),
  liveTenant: () => ({ why: 'its rows are those of lists, and its events those of live' }),
  sendMessage: () => ({ body: { message: 'query', whenBusy: 'queue' }, hasNone: 'the turn goes on by itself' }),
  startFlow: () => ({ body: { input: 'end' }, params: { session: 'another' } }),
  getConversation: () => ({ hasNone: 'it lists no errors' }),
  deleteConversation: () => ({ hasNone: 'it answers nothing' }),
  viewConversation: () => ({}),
  readHistory: () => ({}),
  readEvents: () => ({}),
  forkConversation: () => ({ body: {}, hasNone: 'it answers an id' }),
  continueConversation: () => ({ body: {}, hasNone: 'it answers nothing' }),
  retryTurn: () => ({ why: 'it answers the id of a turn, or names tools' }),
  renameConversation: () => ({ body: { title: 'Refunds' }, hasNone: 'it answers nothing' }),
  turnOutcome: ({ failedTurn }) => ({ params: { turnId: failedTurn } }),
  cancelTurn: () => ({ body: {}, hasNone: 'a turn that is cancelled has not failed' }),
  approveCall: ({ childCall }) => ({ body: {}, params: { callId: childCall } }),
  denyCall: ({ childCall }) => ({ body: {}, params: { callId: childCall } }),
  answerCall: ({ childCall }) => ({ body: { value: 1 }, params: { callId: childCall } }),
  resolveCall: ({ childCall }) => ({ body: { value: 1 }, params: { callId: childCall } }),
  extendDeadline: ({ childCall }) => ({ body: { expiresInMs: null }, params: { callId: childCall } }),
  appendNote: () => ({ body: { name: 'rated', data: 5 }, hasNone: 'it answers a seq' }),
  live: () => ({}),
  listModelCalls: () => ({}),
  getModelCall: () => ({}),
  explainModelCall: () => ({ hasNone: 'it tells where events are, not what is in them' }),
  readSnapshot: () => ({}),
  resumeFlow: () => ({ body: { value: 1 } }),
  continueFlow: () => ({ body: {}, hasNone: 'the session waits' }),
  listFlows: () => ({ why: 'it tells which code the server has' }),
  listSessions: () => ({ hasNone: 'it lists no errors' }),
  flowStatus: () => ({ hasNone: 'it has no error in it' }),
  flowOutcome: () => ({ hasNone: 'the session waits' }),
  flowLive: () => ({}),
  flowRecord: () => ({}),
  forkFlow: () => ({ body: { id: 'mine' }, hasNone: 'it answers an id' }),
  deleteFlow: () => ({ hasNone: 'it answers nothing' }),
  readFile: () => ({ why: 'it answers the bytes of a file' }),
  listForks: () => ({ hasNone: 'it lists no errors' }),
  readLineage: () => ({ hasNone: 'it answers ids' }),
  flowEvents: () => ({}),
  flowForks: () => ({ hasNone: 'it lists no errors' }),
  flowLineage: () => ({ hasNone: 'it answers ids' }),
  uiSend: () => ({ body: { id: 'another', messages: [uiMessage], trigger: 'submit-message' } }),
  uiResume: () => ({}),
  uiMessages: () => ({}),
  uiCancel: () => ({ body: {}, hasNone: 'a turn that is cancelled has not failed' }),
  agUiRun: () => ({ body: { threadId: 'ticket-1', runId: 'r1', messages: [] } }),
  exportStore: () => ({ why: 'it is for operators' }),
  importStore: () => ({ why: 'it is for operators' }),
  examineStore: () => ({ why: 'it is for operators' }),
  repairStore: () => ({ why: 'it is for operators' }),
  compareStore: () => ({ why: 'it is for operators' }),
  unquarantine: () => ({ why: 'it is for operators' }),
  listSubscribers: () => ({ why: 'it is for operators' }),
  removeSubscriber: () => ({ why: 'it is for operators' }),
  listFailedDeliveries: () => ({ why: 'it is for operators' }),
  retryDeliveries: () => ({ why: 'it is for operators' }),
  discardDeliveries: () => ({ why: 'it is for operators' }),
  listJobs: () => ({ why: 'it is for operators' }),
  getJob: () => ({ why: 'it is for operators' }),
  startJob: () => ({ why: 'it is for operators' }),
  countJob: () => ({ why: 'it is for operators' }),
  stopJob: () => ({ why: 'it is for operators' }),
  listNodes: () => ({ why: 'it is for operators' }),
  drainNode: () => ({ why: 'it is for operators' }),
  undrainNode: () => ({ why: 'it is for operators' }),
  listWork: () => ({ why: 'it is for operators' }),
  listPauses: () => ({ why: 'it is for operators' }),
  pause: () => ({ why: 'it is for operators' }),
  resume: () => ({ why: 'it is for operators' }),
  listSteering: () => ({ why: 'it is for operators' }),
  checkSchema: () => ({ why: 'it is for operators' }),
  migrateStore: () => ({ why: 'it is for operators' }),
  collectGarbage: () => ({ why: 'it is for operators' }),
}

type Ids = {
  readonly conversation: string
  readonly session: string
  /** Waits for an approval, after a call of it failed. */
  readonly turnId: string
  readonly callId: string
  readonly turnRef: string
  /** Failed with what a provider said. */
  readonly failedTurn: string
  /** A call that a child agent ended with what a provider said. */
  readonly childCall: string
}

test('every route has a case, and every case a route', () => {
  expect(Object.keys(cases).toSorted()).toEqual(allRoutes.map(({ name }) => name).toSorted())
})

test.each(allRoutes.map((route) => [route.name, route] as const))(
  'no page is told by %s what a tool, a step or a provider said',
  async (name, route) => {
    const { started, ids } = await withFailures({ showErrors: false })
    const asked = cases[name]!(ids)
    if ('why' in asked) return
    const hidden = await answerOf(started, route, { ...ids, ...asked.params }, asked.body)
    expect(hidden).not.toContain(inside)
    expect(hidden).toMatch(route.readsPrompts ? /^HTTP 403/ : /^HTTP 20/)
    const { started: open, ids: openIds } = await withFailures({ showErrors: true })
    const shownCase = cases[name]!(openIds) as { body?: unknown; params?: Partial<Ids> }
    const shown = await answerOf(open, route, { ...openIds, ...shownCase.params }, shownCase.body)
    expect(shown).toMatch(/^HTTP 20/)
    expect(shown.includes(inside)).toBe(!('hasNone' in asked))
  },
)

test('a page is told which call failed, and the code of a turn that did', async () => {
  const { started, ids } = await withFailures({ showErrors: false })
  const view = await started.client.conversation('ticket-1').view()
  const calls = view.messages.flatMap((message) =>
    message.role === 'assistant' ? message.parts.flatMap((part) => (part.type === 'call' ? [part] : [])) : [],
  )
  const query = calls.find(({ name }) => name === 'query')!
  expect(query.end).toEqual({ ok: false, error: `It failed (call '${query.callId}').` })
  const failed = view.log.turns.find(({ turnId }) => turnId === ids.failedTurn)
  expect(failed?.end).toMatchObject({ status: 'failed', reason: 'model_rejected' })
  const messages = await fetch(`${started.server.url}/ui/helper/ticket-1/messages`).then((answer) => answer.text())
  expect(messages).toContain(`It failed (call '${query.callId}').`)
})

test('a page is told what is meant for people', async () => {
  const { started } = await withFailures({ showErrors: false })
  for (const path of ['/view', '/history', '/events']) {
    const text = await fetch(`${started.server.url}/conversations/ticket-1${path}`).then((answer) => answer.text())
    expect(text).toContain('Order 42 is shipped already.')
  }
  const ui = await fetch(`${started.server.url}/ui/helper/ticket-1/messages`).then((answer) => answer.text())
  expect(ui).toContain('Order 42 is shipped already.')
  const flow = started.client.flow('failing', 'polite')
  expect(await flow.start('polite')).toMatchObject({ status: 'failed', error: 'Come back tomorrow.' })
})

/** A conversation and a session of which everything has failed that can, and that wait then. */
async function withFailures({ showErrors }: { readonly showErrors: boolean }): Promise<{ started: Started; ids: Ids }> {
  const tool = (name: string, error: () => Error) =>
    defineTool({
      name,
      description: 'Fails',
      input: z.object({}),
      run: () => {
        throw error()
      },
    })
  const query = tool('query', () => new Error(`the ledger of ${inside}`))
  const ship = tool('ship', () => new UserFacingError('Order 42 is shipped already.'))
  const childModel = scriptedModel(() => ({ error: { status: 400, message: inside } }))
  const child = defineAgent({ name: 'child', model: childModel, retry: false })
  const input = z.object({ task: z.string() })
  const askChild = defineTool({ name: 'child', description: 'Asks', input, executor: 'agent', agent: child })
  const model = scriptedModel(({ prompt }) => {
    const last = prompt.at(-1)!
    if (last.role === 'tool') return 'Done.'
    const text = JSON.stringify(last.content)
    if (text.includes('fail')) return { error: { status: 400, message: inside } }
    const calls = [
      { tool: 'query', args: {} },
      { tool: 'ship', args: {} },
    ]
    if (text.includes('query')) return { calls }
    if (text.includes('child')) return { calls: [{ tool: 'child', args: { task: 'Go' } }] }
    return { calls: [...calls, { tool: 'refund', args: { cents: 1 } }] }
  })
  const tools = [query, ship, askChild, refund, ask]
  const helper = defineAgent({ name: 'helper', model, tools, retry: false, audit: 'full' })
  const started = await startServer({
    agents: [helper, child],
    flows: [failing],
    serve: { showErrors, showPrompts: showErrors },
    runtime: (store) => ({ persistence: storeSnapshots(store) }),
  })
  const chat = started.runtime.conversation('ticket-1', { agent: 'helper' })
  await (await chat.send('query')).outcome()
  await (await chat.send('child')).outcome()
  const failed = await chat.send('fail')
  await failed.outcome()
  const turn = await chat.send('refund')
  const outcome = await turn.outcome()
  if (outcome.status !== 'waiting') throw new Error('the turn should wait')
  await started.runtime.flow('failing', 'session-1').start('wait')
  const childCall = (await chat.events()).flatMap(({ type, content }) =>
    type === 'tool_call' && content.executor === 'agent' ? [content.callId] : [],
  )[0]!
  expect(JSON.stringify(await started.runtime.conversation(childIdOf(childCall)).events())).toContain(inside)
  const modelCalls = await started.runtime.inspect('ticket-1').modelCalls()
  const ids = {
    conversation: 'ticket-1',
    session: 'session-1',
    turnId: turn.turnId,
    callId: outcome.pending[0]!.callId,
    turnRef: modelCalls.at(-1)!.turnRef,
    failedTurn: failed.turnId,
    childCall,
  }
  return { started, ids }
}

const failing = defineFlow({
  name: 'failing',
  version: 1,
  run: async (flow, input) => {
    if (input === 'polite') throw new UserFacingError('Come back tomorrow.')
    const fails = () => {
      throw new Error(`the step of ${inside}`)
    }
    await flow.step('query', fails).catch(() => null)
    if (input === 'wait') await flow.suspend('go on?')
    throw new Error(`the flow of ${inside}`)
  },
}) as unknown as Flow

/** All of an answer; of one that goes on, what has come when it waits. */
async function answerOf({ server }: Started, route: Route, ids: Ids, body: unknown): Promise<string> {
  const isFlow = route.path.startsWith('/flows/')
  const named: Record<string, string> = {
    ...ids,
    flow: 'failing',
    agent: 'helper',
    id: isFlow ? ids.session : ids.conversation,
  }
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(named[name]!))
  const stop = new AbortController()
  const response = await fetch(server.url + path, {
    method: route.method,
    signal: stop.signal,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })
  let text = `HTTP ${response.status}\n`
  for await (const chunk of response.body ?? []) {
    text += new TextDecoder().decode(chunk)
    if (/live$/i.test(route.name) && /"(snapshot|suspend)"/.test(text) && text.endsWith('\n\n')) break
  }
  stop.abort()
  return text
}
