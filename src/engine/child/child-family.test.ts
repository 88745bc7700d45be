import { beforeEach, expect, test } from 'vitest'
import { called, replied, said, stateOf, suspended } from '../../../test/log/story.ts'
import { bossOf, childTool } from '../../../test/stories/child-agents.ts'
import type { PerdureError } from '../../base/errors/perdure-error.ts'
import { RuntimeClosedError } from '../../base/errors/runtime-errors.ts'
import { ConversationNotFoundError, InvalidArgumentError, StoreError } from '../../base/errors/store-errors.ts'
import { defineAgent } from '../../define/define-agent.ts'
import type { TurnOptions } from '../../log/events.ts'
import type { Change } from '../../store/change.ts'
import type { Store } from '../../store/store.ts'
import { scriptedModel } from '../../testing/scripted-model.ts'
import { noLease, type WorkStarter } from '../lease-request.ts'
import type { EngineNode } from '../node.ts'
import { childFamily } from './child-family.ts'

const helper = defineAgent({ name: 'helper', model: scriptedModel([]) })
const { boss } = bossOf([childTool('ask', helper)], [])
const parent = { conversationId: 'up', callId: 'c9' }
const ref = { tenant: 'acme', id: 'here' }

let commits: { id: string; agent: string | null; change: Change }[] = []
/** What the next commits throw, in their order. */
let failures: (PerdureError | null)[] = []
let agentOf: Record<string, string> = {}
/** What else the rows say. */
let records: Record<string, object> = {}
let deleted: string[] = []
/** What the worker was told to start, after the commit. */
let started: unknown[] = []

beforeEach(() => {
  commits = []
  failures = []
  records = {}
  deleted = []
  started = []
  agentOf = { up: 'boss', here: 'boss', 'child-c1': 'helper' }
})

function familyOf(parent: { conversationId: string; callId: string } | null) {
  let giveTo: string | null = null
  const store = {
    getToolCall: async () => ({ status: 'pending', kind: 'sub_agent', round: 3, executor: 'agent' }),
    getConversation: async (id: string) =>
      agentOf[id] === undefined ? null : { id, agent: agentOf[id], lastSeq: 0, parent: null, ...records[id] },
    deleteConversation: async (id: string) => void deleted.push(id),
    commit: async (id: string, change: Change) => {
      const failure = failures.shift()
      if (failure) throw failure
      commits.push({ id, agent: giveTo, change })
      return { ok: true, lastSeq: 1 }
    },
  }
  const node = {
    store: { forTenant: (tenant: string) => (tenant === 'acme' ? store : null) } as unknown as Store,
    agents: new Map([boss, helper].map((agent) => [agent.name, agent])) as unknown as EngineNode['agents'],
    leaseMs: 700,
    redact: (text: string) => text.replaceAll('secret', '[redacted]'),
    observer: null,
  }
  const worker: WorkStarter = {
    isClosed: false,
    requestLease: (wanted, name) => {
      giveTo = name
      return { ...noLease(wanted), name }
    },
    start: ({ ref: { id }, name }) => void started.push([id, name]),
    allowOneMore: () => () => {},
  }
  return childFamily(node, worker, ref, boss as never, parent, { whoOfCall: () => 'ann' })
}

const family = () => familyOf(parent)
const told = () => commits.map(({ id, change }) => [id, (change.events[0]!.content as { value?: unknown }).value])

test('a parent is told the result in the call it waits with', async () => {
  await family().resolveParent({ ok: true, result: 1 })
  expect(commits).toMatchObject([
    {
      id: 'up',
      agent: 'boss',
      change: {
        events: [{ type: 'resolution', content: { callId: 'c9', round: 3, status: 'resolved', who: 'agent:boss' } }],
        resolve: [{ callId: 'c9', round: 3, status: 'resolved' }],
      },
    },
  ])
  expect(told()).toEqual([['up', { ok: true, result: 1 }]])
  expect(started).toEqual([['up', 'boss']])
})

test('a result that the log of the parent will never take is told as an error, without secrets', async () => {
  failures = [new InvalidArgumentError('value', 'is a secret')]
  await family().resolveParent({ ok: true, result: 1 })
  expect(told()).toEqual([
    ['up', { ok: false, error: expect.stringMatching(/^its result cannot be recorded: .*\[redacted\]/) }],
  ])
})

test('a store that fails, or a runtime that closes, is no refusal: the parent is told nothing, and it is tried again', async () => {
  for (const failure of [new StoreError('commit', new Error('down')), new RuntimeClosedError()]) {
    failures = [failure]
    await expect(family().resolveParent({ ok: true, result: 1 })).rejects.toBe(failure)
    failures = [failure]
    await expect(family().start(callOf('ask'), turn)).rejects.toBe(failure)
  }
  expect([commits, started]).toEqual([[], []])
})

test('a parent that is gone needs no answer', async () => {
  failures = [new ConversationNotFoundError('up')]
  await family().resolveParent({ ok: true, result: 1 })
  expect(commits).toEqual([])
  await familyOf(null).resolveParent(null)
  expect(commits).toEqual([])
})

const state = stateOf([
  said('t1'),
  replied('t1', 'm1', 1, { calls: ['c1', 'c2'] }),
  called('c1', { executor: 'agent', name: 'ask', args: { task: 'look' } }),
  called('c2', { executor: 'agent', name: 'gone' }),
  suspended('c1', 'sub_agent'),
  suspended('c2', 'sub_agent'),
])
const turn = state.turns[0]!
const callOf = (name: string) => turn.calls.find((call) => call.name === name)!

test('a child is started in a conversation of its own, in the name of the user who asked', async () => {
  delete agentOf['child-c1']
  await family().start(callOf('ask'), turn)
  expect(commits).toMatchObject([
    {
      id: 'child-c1',
      agent: 'helper',
      change: {
        key: 'child/c1',
        expectedSeq: 0,
        conversation: { agent: 'helper', parent: { id: 'here', callId: 'c1' } },
        events: [{ type: 'user_msg', content: { turnId: 'turn-c1', who: 'ann', key: 'child/c1' } }],
      },
    },
  ])
})

test('a tool that is gone or starts no agent any more ends its call, and so does a start that is refused', async () => {
  await family().start(callOf('gone'), turn)
  expect(told()).toEqual([['here', { ok: false, error: "The tool 'gone' is no longer there. No agent was started." }]])
  commits = []
  failures = [new InvalidArgumentError('message', 'has a secret')]
  await family().start(callOf('ask'), turn)
  expect(told()).toEqual([
    ['here', { ok: false, error: expect.stringMatching(/^the agent 'helper' could not be started: .*\[redacted\]/) }],
  ])
})

test('a child is asked to end in the name of the user who cancelled; one that is not there is not', async () => {
  expect(await family().cancel('c1', 'bob')).toBe(true)
  expect(commits).toMatchObject([
    {
      id: 'child-c1',
      agent: 'helper',
      change: { key: 'cancel/c1', events: [{ type: 'cancel_requested', content: { turnId: 'turn-c1', who: 'bob' } }] },
    },
  ])
  expect(await family().cancel('c2', 'bob')).toBe(false)
  expect(commits).toHaveLength(1)
})

test('a child of an agent that this process does not have is left to those who do', async () => {
  agentOf['child-c1'] = 'stranger'
  expect(await family().cancel('c1', 'bob')).toBe(true)
  expect(commits[0]).toMatchObject({ agent: null })
})

test('a child that is deleted while it is asked to end has ended, and a store that fails is told of', async () => {
  failures = [new ConversationNotFoundError('child-c1')]
  expect(await family().cancel('c1', 'bob')).toBe(true)
  const failure = new StoreError('commit', new Error('down'))
  failures = [failure]
  await expect(family().cancel('c1', 'bob')).rejects.toBe(failure)
})

test('a child that has begun is not started again, and what has its name but is not its own is not taken for it', async () => {
  records['child-c1'] = { lastSeq: 3, parent: { id: 'here', callId: 'c1' } }
  await family().start(callOf('ask'), turn)
  expect(commits).toEqual([])
  records['child-c1'] = { lastSeq: 3, parent: { id: 'here', callId: 'other' } }
  await family().start(callOf('ask'), turn)
  expect(told()).toEqual([
    ['here', { ok: false, error: expect.stringContaining("the agent 'helper' could not be started") }],
  ])
})

test('a child has its own limits, within what is left to the turn that starts it', async () => {
  delete agentOf['child-c1']
  const optionsOf = async (options: TurnOptions) => {
    commits = []
    await family().start(callOf('ask'), { ...turn, options })
    return (commits[0]!.change.events[0]!.content as { options: object }).options
  }
  expect(await optionsOf({ maxDepth: 2, maxSteps: 5, maxTokens: 100 })).toMatchObject({
    maxDepth: 1,
    maxSteps: 4,
    maxTokens: 100,
  })
  expect(await optionsOf({ maxDepth: 50, maxSteps: 500 })).toMatchObject({ maxDepth: 4, maxSteps: 20 })
  expect('maxTokens' in (await optionsOf({}))).toBe(false)
})

test('a child whose parent was deleted while it was started goes with it', async () => {
  delete agentOf['child-c1']
  await family().start(callOf('ask'), turn)
  expect(deleted).toEqual([])
  delete agentOf['here']
  await family().start(callOf('ask'), turn)
  expect(deleted).toEqual(['child-c1'])
})
