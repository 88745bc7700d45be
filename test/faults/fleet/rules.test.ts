import { beforeAll, describe, expect, test } from 'vitest'
import { silentLogger } from '../../../src/base/logger.ts'
import type { Flow } from '../../../src/define/define-flow.ts'
import { createScope } from '../../../src/define/scope.ts'
import { childIdOf } from '../../../src/log/child-call.ts'
import type { EventOf, LogEvent } from '../../../src/log/events.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { fleetAgents } from './agents.ts'
import { type Kept, keptOf } from './facts.ts'
import { emptyHistory, type History } from './history.ts'
import { brokenRules, type rules } from './rules.ts'

/** A history that can be spoilt: what people heard, and every log as it is in the store. */
type Lived = { readonly history: History; readonly logs: Map<string, { record: Kept['record']; log: LogEvent[] }> }

let lived: Lived

beforeAll(async () => {
  lived = await live()
})

test('a history without faults breaks no rule', () => {
  expect(broken(lived)).toEqual([])
})

const spoilt: readonly [rule: keyof typeof rules, how: string, spoil: (lived: Lived) => void][] = [
  [
    'acknowledged means present',
    'a message is gone',
    ({ logs }) => (eventIn(logs, 'pay', 'user_msg').content.key = 'other'),
  ],
  ['acknowledged means present', 'a message is there twice', ({ logs }) => repeat(logs, 'say', 'user_msg')],
  [
    'acknowledged means present',
    'a sender was told another turn',
    ({ history }) => history.sends[0]!.told.push('other'),
  ],
  ['acknowledged means present', 'a reader did not find it', ({ history }) => history.denials.push('turn_not_found')],
  ['acknowledged means present', 'a session is gone', ({ logs }) => logs.delete('session')],
  [
    'acknowledged means present',
    'the answer to a session is gone',
    ({ history }) => (history.sessions[0]!.resumedWith = 'no'),
  ],
  ['one end per turn and call', 'a turn ends twice', ({ logs }) => repeat(logs, 'say', 'turn_ended')],
  ['one end per turn and call', 'a turn does not end', ({ logs }) => drop(logs, 'say', 'turn_ended')],
  ['one end per turn and call', 'a call has two results', ({ logs }) => repeat(logs, 'report', 'tool_result')],
  ['one end per turn and call', 'a session ends twice', ({ logs }) => repeat(logs, 'session', 'flow_ended')],
  [
    'parent and child agree',
    'the parent was told another result',
    ({ logs }) => tellParent(logs, { ok: true, result: 'no' }),
  ],
  [
    'parent and child agree',
    'the parent was told of a failure',
    ({ logs }) => tellParent(logs, { ok: false, error: 'no' }),
  ],
  ['parent and child agree', 'the child goes on', ({ logs }) => drop(logs, childOf(logs), 'turn_ended')],
  [
    'parent and child agree',
    'the child failed',
    ({ logs }) => (eventIn(logs, childOf(logs), 'turn_ended').content.status = 'failed'),
  ],
  ['parent and child agree', 'the child is gone', ({ logs }) => logs.delete(childOf(logs))],
  ['parent and child agree', 'the parent was told twice', ({ logs }) => repeat(logs, 'family', 'resolution')],
  [
    'effects happen once, and not after their end',
    'a tool ran twice',
    ({ history, logs }) => runAgain(history, callOf(logs, 'report'), 0),
  ],
  [
    'effects happen once, and not after their end',
    'a tool ran late',
    ({ history, logs }) => runLate(history, callOf(logs, 'rerun')),
  ],
  [
    'effects happen once, and not after their end',
    'a result without a run',
    ({ history }) => void history.runs.splice(0),
  ],
  [
    'effects happen once, and not after their end',
    'a denied tool ran',
    ({ history, logs }) => runAgain(history, callOf(logs, 'denied'), 0),
  ],
  [
    'effects happen once, and not after their end',
    'a step ran twice',
    ({ history }) => runAgain(history, stepIn(history), 0),
  ],
  [
    'effects happen once, and not after their end',
    'a step ran late',
    ({ history }) => runLate(history, stepIn(history)),
  ],
  [
    'answers told are true',
    'two were told that they won',
    ({ history }) => history.answers[1]!.told.splice(0, 1, { accepted: true }),
  ],
  [
    'answers told are true',
    'the winner is another',
    ({ logs }) => (eventIn(logs, 'pay', 'resolution').content.who = 'zoe'),
  ],
  [
    'answers told are true',
    'another decision was kept',
    ({ logs }) => (eventIn(logs, 'pay', 'resolution').content.status = 'denied'),
  ],
  ['answers told are true', 'the loser was told of another winner', ({ history }) => misinform(history)],
  ['answers told are true', 'the accepted answer is gone', ({ logs }) => drop(logs, 'pay', 'resolution')],
  ['answers told are true', 'the winner was told that it lost', ({ history }) => belittle(history)],
  [
    'ends told are true',
    'another status was told',
    ({ history }) => void Object.assign(history.ends[0]!, { status: 'failed' }),
  ],
  [
    'ends told are true',
    'another text was told',
    ({ history }) => void Object.assign(history.ends[0]!, { text: 'no' }),
  ],
  ['ends told are true', 'a session was told another end', ({ history }) => (history.sessions[0]!.end = 'failed')],
  ['an accepted approval is not eaten', 'its tool was gone', ({ logs }) => eat(logs, 'pay')],
  ['watchers see the log', 'an event is left out', ({ history }) => void history.watched[0]!.seen.splice(1, 1)],
  ['watchers see the log', 'an event comes twice', ({ history }) => spliceAgain(history.watched[0]!.seen)],
  [
    'poison is set aside, and nothing else',
    'it ended too many nodes',
    ({ history }) => poisonNodes(history, 11, 'released'),
  ],
  ['poison is set aside, and nothing else', 'it was never set aside', ({ history }) => poisonNodes(history, 1, 'none')],
  [
    'poison is set aside, and nothing else',
    'it could not be cancelled',
    ({ history }) => poisonNodes(history, 5, 'told'),
  ],
  ['poison is set aside, and nothing else', 'another was set aside', ({ logs }) => setAside(logs, 'say')],
  ['everything comes to rest', 'a conversation is held', ({ logs }) => stir(logs, 'say')],
  ['everything comes to rest', 'a session has not ended', ({ logs }) => drop(logs, 'session', 'flow_ended')],
]

describe('a history is found to be broken', () => {
  test.each(spoilt)('%s: %s', (rule, _, spoil) => {
    const copy = structuredClone(lived)
    spoil(copy)
    expect(broken(copy)).toContainEqual(expect.stringMatching(new RegExp(`^${rule}: `)))
  })
})

function broken({ history, logs }: Lived): string[] {
  const kept = new Map([...logs].map(([id, { record, log }]) => [id, keptOf(record, log)]))
  return brokenRules({ history, kept })
}

/** One process on a store in memory, to which nothing happens. */
async function live(): Promise<Lived> {
  const history = emptyHistory()
  const store = memoryStore({ logger: silentLogger })
  const ran = (tool: string, id: string) => void history.runs.push({ tool, id, at: Date.now(), node: 'one' })
  const { agents, flows } = fleetAgents('earlier', { ran, mark: async () => {}, die: () => {} })
  const options = { agents, flows: flows as unknown as readonly Flow[], store, logger: silentLogger }
  const runtime = createRuntime({ ...options, restoreScope: (_, user) => createScope({ user }) })
  for (const id of ['say', 'report', 'rerun', 'pay', 'denied', 'family']) {
    const plan = id === 'denied' ? 'pay' : id
    const chat = runtime.conversation(id, { agent: 'office' })
    const turn = await chat.send(`${plan} ${id} 1`, { key: id })
    history.sends.push({ conversation: id, key: id, told: [turn.turnId] })
    let outcome = await turn.outcome()
    while (outcome.status === 'waiting') {
      for (const { conversationId, callId, round } of outcome.pending) {
        const verb = id === 'denied' ? ('deny' as const) : ('approve' as const)
        for (const who of ['ann', 'bob']) {
          const told = [
            await runtime
              .as(createScope({ user: who }))
              .conversation(conversationId)
              [verb]({ callId, round }),
          ]
          history.answers.push({ conversation: conversationId, callId, round, who, verb, value: null, told })
        }
      }
      outcome = await turn.outcome()
    }
    if (outcome.status === 'detached') throw new Error(outcome.reason)
    history.ends.push({ conversation: id, turnId: turn.turnId, status: outcome.status, text: outcome.text })
  }
  const session = runtime.flow('errand', 'session')
  await session.start('session')
  await session.resume('yes')
  await session.outcome()
  history.sessions.push({
    id: 'session',
    isStarted: true,
    resumedWith: 'yes',
    isResumed: true,
    end: await session.result(),
  })
  await runtime.close()
  const logs: Lived['logs'] = new Map()
  for (const record of await store.listConversations({ limit: 100 })) {
    const log = await store.streamEvents(record.id)
    logs.set(record.id, { record, log })
    const seen = log.map(({ seq, type, at }) => `${seq} ${type} ${at}`)
    history.watched.push({ conversation: record.id, seen })
  }
  return { history, logs }
}

type Spoilable<Type extends LogEvent['type']> = {
  readonly content: { -readonly [Field in keyof EventOf<Type>['content']]: EventOf<Type>['content'][Field] }
}

function eventIn<Type extends LogEvent['type']>(logs: Lived['logs'], id: string, type: Type): Spoilable<Type> {
  return logs.get(id)!.log.find((event) => event.type === type) as unknown as Spoilable<Type>
}

function repeat(logs: Lived['logs'], id: string, type: LogEvent['type']): void {
  const { log } = logs.get(id)!
  log.push(log.find((event) => event.type === type)!)
}

function drop(logs: Lived['logs'], id: string, type: LogEvent['type']): void {
  const { log } = logs.get(id)!
  log.splice(
    log.findIndex((event) => event.type === type),
    1,
  )
}

function callOf(logs: Lived['logs'], id: string): string {
  return eventIn(logs, id, 'tool_call').content.callId
}

function childOf(logs: Lived['logs']): string {
  return childIdOf(callOf(logs, 'family'))
}

function stepIn(history: History): string {
  return history.runs.find(({ tool }) => tool === 'make')!.id
}

function tellParent(logs: Lived['logs'], value: { ok: boolean; result?: string; error?: string }): void {
  eventIn(logs, 'family', 'resolution').content.value = value
}

function runAgain(history: History, id: string, at: number): void {
  history.runs.push({ tool: 'any', id, at, node: 'another' })
}

function runLate(history: History, id: string): void {
  history.runs.splice(
    0,
    history.runs.length,
    ...history.runs.map((run) => (run.id === id ? { ...run, at: run.at + 60_000 } : run)),
  )
}

function misinform(history: History): void {
  const loser = history.answers.find(({ told }) => told.some(({ accepted }) => !accepted))!
  const [answer] = loser.told
  if (answer && !answer.accepted) loser.told[0] = { ...answer, resolution: { ...answer.resolution, who: 'zoe' } }
}

function eat(logs: Lived['logs'], id: string): void {
  const result = eventIn(logs, id, 'tool_result')
  Object.assign(result.content, { ok: false, error: "The tool 'pay' is no longer there. It was not run." })
}

function spliceAgain(seen: string[]): void {
  seen.splice(1, 0, seen[0]!)
}

function belittle({ answers }: History): void {
  const late = answers.find(({ told }) => told.some(({ accepted }) => !accepted))!
  const winner = answers.find(({ callId, told }) => callId === late.callId && told.some(({ accepted }) => accepted))!
  winner.told.push(...late.told)
}

function poisonNodes(history: History, times: number, quarantine: History['quarantine']): void {
  history.poisoned.push(...Array.from({ length: times }, () => 'one'))
  history.quarantine = quarantine
}

function setAside(logs: Lived['logs'], id: string): void {
  const kept = logs.get(id)!
  kept.record = { ...kept.record, quarantine: { at: 1, epoch: 1 } }
}

function stir(logs: Lived['logs'], id: string): void {
  const kept = logs.get(id)!
  kept.record = { ...kept.record, status: 'active' }
}
