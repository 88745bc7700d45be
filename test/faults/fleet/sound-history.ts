import { silentLogger } from '../../../src/base/logger.ts'
import type { Flow } from '../../../src/define/define-flow.ts'
import { createScope } from '../../../src/define/scope.ts'
import type { LogEvent } from '../../../src/log/events.ts'
import { keptMessages } from '../../../src/log/state.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { jobsOf, type StoredJob } from '../../../src/store/jobs.ts'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import type { SteeringAct } from '../../../src/store/steering.ts'
import { until } from '../../stories/until.ts'
import { fleetAgents } from './agents.ts'
import { type Kept, keptOf, readActs } from './facts.ts'
import { emptyHistory, type History } from './history.ts'
import type { TakenLease } from './lease-audit.ts'

/** A history that can be spoilt: what people heard, and every log as it is in the store. */
export type Lived = {
  readonly history: History
  readonly logs: Map<string, { record: Kept['record']; log: LogEvent[] }>
  readonly leases: { readonly taken: Writable<TakenLease>[]; readonly renewedLate: number[] }
  readonly acts: Writable<SteeringAct>[]
  readonly jobs: Writable<StoredJob>[]
}

type Writable<T> = { -readonly [Field in keyof T]: T[Field] }

/** One process on a store in memory, to which nothing happens. */
export async function live(): Promise<Lived> {
  const history = emptyHistory()
  const store = memoryStore({ logger: silentLogger })
  const called = (conversation: string, key: string) => void history.calls.push({ conversation, key, at: Date.now() })
  const ran = (tool: string, id: string) => void history.runs.push({ tool, id, at: Date.now(), node: 'one' })
  const world = { ran, called, attempt: () => 'one-1', mark: async () => {}, die: () => {} }
  const { agents, flows } = fleetAgents('earlier', world)
  const options = { agents, flows: flows as unknown as readonly Flow[], store, logger: silentLogger }
  const runtime = createRuntime({ ...options, restoreScope: (_, user) => createScope({ user }) })
  for (const key of ['say', 'again', 'report', 'rerun', 'pay', 'denied', 'family', 'fail', 'write']) {
    const plan = { denied: 'pay', again: 'say' }[key] ?? key
    const id = key === 'again' ? 'say' : key
    const chat = runtime.conversation(id, { agent: key === 'write' ? 'scribe' : 'office' })
    const turn = await chat.send(`${plan} ${id} 1 ${key}`, { key })
    history.sends.push({ conversation: id, key, told: [turn.turnId] })
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
  const target = { conversation: 'say' }
  const { id: pauseId } = await runtime.pause(target)
  history.pauses.push({ id: pauseId, target, at: Date.now() })
  await runtime.resume(target)
  const job = await runtime.bulk.start({ action: 'retry', id: 'job1', who: 'job1', filter: { agent: 'office' } })
  history.jobs.push(job)
  await until(async () => (await runtime.bulk.get(job.id))?.finishedAt)
  await until(async () => (await store.getConversation('fail'))?.status === 'idle')
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
  const text = textOf(keptOf(logs.get('write')!.record, logs.get('write')!.log).state)
  const shown = [
    { drafts: [`${text.split(' ')[0]} `], messages: [] },
    { drafts: [], messages: [text] },
  ]
  history.readings.push({ conversation: 'write', node: 'two', shown, isWhole: true })
  // One after another, so that none is beside another.
  const taken = [...logs].map(([id, { record, log }], index) => ({
    ...{ id, at: log[0]!.at - 1_000 * index, agent: record.agent ?? '', account: null, lastSeq: 1, isPaused: false },
    ...{ ofTenant: 1, ofAgent: 1, ofAccount: 0 },
  }))
  const jobs = await jobsOf(store).list()
  const first = taken.toSorted((left) => (left.id === 'say' ? -1 : 0))
  return {
    history,
    logs,
    leases: { taken: first, renewedLate: [] },
    acts: await readActs(store),
    jobs,
  }
}

function textOf({ turns }: Kept['state']): string {
  return turns
    .flatMap((turn) => keptMessages(turn))
    .flatMap(({ parts }) => parts.map((part) => (part as { text: string }).text))
    .join('')
}
