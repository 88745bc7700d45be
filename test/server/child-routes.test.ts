import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import type { Route } from '../../src/server/route.ts'
import { allRoutes } from '../../src/server/routes/all-routes.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import type { PendingItem } from '../../src/view/view.ts'
import { bossOf, childTool } from '../stories/child-agents.ts'
import { onlyPendingOf } from '../stories/pending-of.ts'
import { refund } from '../support/asking-tools.ts'
import { startServer } from './start-server.ts'

type Verdict =
  /** Names the conversation of a child whose agent only a tool starts. `code`: how it is refused; else it goes. */
  | { readonly body?: unknown; readonly code?: 'child_conversation' | 'agent_missing' | 'operator_only' }
  /** Why the question does not arise. */
  | { readonly why: string }

const noChild = { why: 'names no conversation' }
const ofFlows = { why: 'names a session: a child is none' }
const forOperators = { why: 'acts on the whole store, for operators' }
const agUiSaid = { id: 'm1', role: 'user', content: 'Do this instead.' }
const said = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Do this instead.' }] }

/** Every route of the server. One that is missing here fails the test below. */
const verdicts: Readonly<Record<string, Verdict>> = {
  health: noChild,
  ready: noChild,
  openApi: noChild,
  listConversations: noChild,
  inbox: noChild,
  listFlows: noChild,
  listSessions: noChild,
  totals: noChild,
  liveTenant: noChild,
  sendMessage: { body: { message: 'Do this instead.', whenBusy: 'steer' }, code: 'child_conversation' },
  retryTurn: { body: {}, code: 'child_conversation' },
  continueConversation: { body: {}, code: 'child_conversation' },
  renameConversation: { body: { title: 'Refunds' } },
  forkConversation: { body: {}, code: 'agent_missing' },
  uiSend: { body: { id: 'child', messages: [said], trigger: 'submit-message' }, code: 'child_conversation' },
  uiResume: { code: 'agent_missing' },
  uiMessages: { code: 'agent_missing' },
  uiCancel: { body: {}, code: 'agent_missing' },
  agUiRun: { body: { threadId: 'child', runId: 'r1', messages: [agUiSaid] }, code: 'child_conversation' },
  getConversation: {},
  viewConversation: {},
  readHistory: {},
  readEvents: {},
  turnOutcome: {},
  live: {},
  listModelCalls: { code: 'operator_only' },
  getModelCall: { code: 'operator_only' },
  explainModelCall: { code: 'operator_only' },
  readSnapshot: {},
  listForks: {},
  readLineage: {},
  readFile: { why: 'the child has no file' },
  approveCall: { body: {} },
  denyCall: { body: {} },
  answerCall: { why: 'the child waits for an approval, not for an answer' },
  resolveCall: { body: { value: true } },
  extendDeadline: { body: { expiresInMs: null } },
  appendNote: { body: { name: 'rated', data: 5 } },
  cancelTurn: { body: {} },
  deleteConversation: {},
  startFlow: { body: {}, code: 'child_conversation' },
  resumeFlow: ofFlows,
  continueFlow: ofFlows,
  flowStatus: ofFlows,
  flowRecord: ofFlows,
  flowOutcome: ofFlows,
  flowLive: ofFlows,
  forkFlow: ofFlows,
  deleteFlow: ofFlows,
  flowEvents: ofFlows,
  flowForks: ofFlows,
  flowLineage: ofFlows,
  stats: forOperators,
  metrics: forOperators,
  exportStore: forOperators,
  importStore: forOperators,
  examineStore: forOperators,
  repairStore: forOperators,
  compareStore: forOperators,
  unquarantine: forOperators,
  listSubscribers: forOperators,
  removeSubscriber: forOperators,
  listFailedDeliveries: forOperators,
  retryDeliveries: forOperators,
  discardDeliveries: forOperators,
  listJobs: forOperators,
  getJob: forOperators,
  startJob: forOperators,
  countJob: forOperators,
  stopJob: forOperators,
  listNodes: forOperators,
  drainNode: forOperators,
  undrainNode: forOperators,
  listWork: forOperators,
  listPauses: forOperators,
  pause: forOperators,
  resume: forOperators,
  listSteering: forOperators,
  checkSchema: forOperators,
  migrateStore: forOperators,
  collectGarbage: forOperators,
}

const asked = allRoutes.filter(({ name }) => !('why' in (verdicts[name] ?? {})))

test('every route has a verdict, and every verdict a route', () => {
  expect(Object.keys(verdicts).toSorted()).toEqual(allRoutes.map(({ name }) => name).toSorted())
})

describe("a child's conversation is read and answered over HTTP, and talked to only through its parent", () => {
  test.each(asked.map((route) => [route.name, route] as const))('%s', async (name, route) => {
    const { url, names, model, runtime } = await withChild()
    const { body, code } = verdicts[name] as { body?: object; code?: string }
    const named = body && 'threadId' in body ? { ...body, threadId: names.id } : body
    const filled = named && 'id' in named ? { ...named, id: names.id } : named
    const answer = await ask(url, route, names, filled)
    if (code === undefined) return expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
    expect(answer.body).toMatchObject({ code })
    // The one that tells where to send it instead.
    if (code === 'child_conversation') expect(answer.body['detail']).toContain("'ticket-1'")
    expect(model.calls).toHaveLength(1)
    expect(await runtime.conversations({ agent: 'worker' })).toHaveLength(1)
  })
})

describe('an agent that only a tool starts is answered as one that does not exist', () => {
  test.each(['sendMessage', 'uiSend', 'agUiRun'])('%s', async (name) => {
    const { url, names, model } = await withChild()
    const route = allRoutes.find((candidate) => candidate.name === name)!
    const body = {
      sendMessage: { message: 'Do it.', agent: 'AGENT' },
      uiSend: { id: 'new', messages: [said], trigger: 'submit-message' },
      agUiRun: { threadId: 'new', runId: 'r1', messages: [agUiSaid] },
    }[name]
    const told = async (agent: string) => {
      const asking = JSON.parse(JSON.stringify(body ?? null).replace('AGENT', agent)) as object | null
      const answer = await ask(url, route, { ...names, id: 'new', agent }, asking ?? undefined)
      return JSON.stringify([answer.status, answer.body]).replaceAll(agent, 'AGENT')
    }
    expect(await told('worker')).toBe(await told('unknown'))
    expect(await told('worker')).toContain('"agent_missing"')
    expect(model.calls).toHaveLength(1)
  })
})

/** A conversation whose child waits for an approval. */
async function withChild() {
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Bought.' : { calls: [{ tool: 'refund', args: { cents: 1 } }] },
  )
  const worker = defineAgent({ name: 'worker', model, tools: [refund], audit: 'full' })
  const { boss } = bossOf([childTool('delegate', worker)], [{ tool: 'delegate', args: { task: 'Do it.' } }])
  const started = await startServer({ agents: [boss] })
  const verbs = started.runtime
  const turn = await verbs.conversation('ticket-1', { agent: 'boss' }).send('Go')
  const item = await onlyPendingOf<PendingItem>(turn)
  const [modelCall] = await verbs.inspect(item.conversationId).modelCalls()
  const names = {
    ...{ id: item.conversationId, callId: item.callId, turnId: item.turnId, turnRef: modelCall!.turnRef },
    ...{ agent: 'worker', flow: 'greeting' },
  }
  return { ...started, url: started.server.url, names, model }
}

type Answered = { readonly status: number; readonly body: Readonly<Record<string, unknown>> }

async function ask(
  url: string,
  { path, method, answer }: Route,
  names: Readonly<Record<string, string>>,
  body?: object,
): Promise<Answered> {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(names[name]!))
  const stop = new AbortController()
  const response = await fetch(url + filled, {
    ...{ method, signal: stop.signal },
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })
  const isStream = response.ok && answer.type === 'text/event-stream'
  const text = isStream || response.status === 204 ? '{}' : await response.text()
  stop.abort()
  return { status: response.status, body: JSON.parse(text) as Answered['body'] }
}
