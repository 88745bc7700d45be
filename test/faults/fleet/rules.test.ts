import { beforeAll, describe, expect, test } from 'vitest'
import { childIdOf } from '../../../src/log/child-call.ts'
import type { EventOf, LogEvent } from '../../../src/log/events.ts'
import { keptOf } from './facts.ts'
import type { History } from './history.ts'
import { brokenRules, type rules } from './rules.ts'
import { type Lived, live } from './sound-history.ts'

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
  ['paused stays at rest', 'it was taken', ({ leases }) => (leases.taken[0]!.isPaused = true)],
  [
    'paused stays at rest',
    'it was taken after the acknowledgement',
    (lived) => void lived.leases.taken.push({ ...leaseOf(lived, 'say'), at: pauseLong(lived) + 500 }),
  ],
  [
    'paused stays at rest',
    'a queued turn began',
    (lived) => void lived.history.calls.push({ ...callsOf(lived, 'again'), at: pauseLong(lived) + 500 }),
  ],
  ['limits are kept', 'a tenant had too many turns', ({ leases }) => (leases.taken[0]!.ofTenant = 6)],
  ['limits are kept', 'an agent had too many turns', (lived) => (leaseOf(lived, 'say').ofAgent = 5)],
  [
    'limits are kept',
    'an account had too many turns',
    (lived) => void Object.assign(leaseOf(lived, 'write'), { account: 'press', ofAccount: 2 }),
  ],
  ['a bulk job acts once', 'it is gone', ({ jobs }) => void jobs.splice(0)],
  ['a bulk job acts once', 'it goes on', ({ jobs }) => (jobs[0]!.state = 'running')],
  ['a bulk job acts once', 'it says that it did more', ({ jobs }) => (jobs[0]!.done = 2)],
  ['a bulk job acts once', 'it acted twice', ({ logs }) => actAgain(logs)],
  ['a bulk job acts once', 'it acted on what came later', ({ jobs }) => (jobs[0]!.createdAt = 1)],
  ['readers see one text', 'it never ends', ({ history }) => (history.readings[0]!.isWhole = false)],
  ['readers see one text', 'two drafts at once', (lived) => show(lived, ['a.0 ', 'b.0 '])],
  ['readers see one text', 'two texts are mixed', (lived) => show(lived, ['a.0 b.1 '])],
  ['readers see one text', 'a text begins in its middle', (lived) => show(lived, ['a.1 a.2 '])],
  ['readers see one text', 'words come twice', (lived) => show(lived, ['a.0 a.0 a.1 '])],
  [
    'readers see one text',
    'a draft stays beside its message',
    ({ history }) => {
      const { shown } = history.readings[0]!
      shown.splice(0, 1, { drafts: ['one-1.0 '], messages: shown.at(-1)!.messages })
    },
  ],
  [
    'readers see one text',
    'the end is not what the log says',
    ({ history }) => void history.readings[0]!.shown.push({ drafts: [], messages: ['one-1.0 '] }),
  ],
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

function broken({ logs, ...facts }: Lived): string[] {
  const kept = new Map([...logs].map(([id, { record, log }]) => [id, keptOf(record, log)]))
  return brokenRules({ ...facts, kept })
}

function leaseOf({ leases }: Lived, id: string): Lived['leases']['taken'][number] {
  return leases.taken.find((lease) => lease.id === id)!
}

function callsOf({ history }: Lived, key: string): History['calls'][number] {
  const at = history.calls.findIndex((call) => call.key === key)
  return history.calls.splice(at, 1)[0]!
}

/** Has the pause last for a second, and returns when it began. */
function pauseLong({ acts, history }: Lived): number {
  const { at } = history.pauses[0]!
  acts.find(({ act }) => act === 'resume')!.at = at + 1_000
  return at
}

function show({ history }: Lived, drafts: readonly string[]): void {
  history.readings[0]!.shown.unshift({ drafts, messages: [] })
}

/** The turn in place of the one that failed is withdrawn by the same job. */
function actAgain(logs: Lived['logs']): void {
  const { log } = logs.get('fail')!
  const message = log.findLast((event) => event.type === 'user_msg')!
  const copy = { ...message, content: { ...message.content, turnId: 'other' } } as LogEvent
  const superseded = log.find((event) => event.type === 'superseded')!
  log.push({ ...superseded, content: { ...superseded.content, by: 'other' } } as LogEvent, copy)
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
