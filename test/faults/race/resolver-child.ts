import type { LogEvent } from '../../../src/log/events.ts'
import { childInput, dieWithParent, onParentLine, say } from '../harness/child-channel.ts'
import { describeFailure, type Failure } from '../harness/failure.ts'
import { openStore, type Target } from '../harness/target.ts'
import type { WaitingCall } from './pending-calls.ts'
import { sleepUntil } from './sleep-until.ts'

export type ResolverInput = { readonly target: Target; readonly who: string }

/** A call to resolve at a moment of the machine's clock. */
export type Task = WaitingCall & { readonly at: number }

export type ResolverMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'resolved'; readonly attempts: readonly Attempt[] }

/** What one resolver was told about one call. */
export type Attempt = WaitingCall & {
  readonly who: string
  /** By the machine's clock, in fractions of milliseconds. */
  readonly begunAt: number
  readonly endedAt: number
  readonly outcome:
    | { readonly type: 'won'; readonly seq: number }
    | { readonly type: 'lost'; readonly winner: LogEvent | null }
    | { readonly type: 'refused'; readonly conflict: string }
    | { readonly type: 'failed'; readonly failure: Failure }
}

const input = childInput<ResolverInput>()
dieWithParent()
const store = await openStore(input.target)
// The first use opens files or connections: not part of the race.
await store.getConversation('nobody')
onParentLine((line) => {
  void resolveAll(JSON.parse(line) as Task[]).then((attempts) => say<ResolverMessage>({ type: 'resolved', attempts }))
})
say<ResolverMessage>({ type: 'ready' })

async function resolveAll(tasks: readonly Task[]): Promise<Attempt[]> {
  const attempts: Promise<Attempt>[] = []
  for (const task of tasks.toSorted((left, right) => left.at - right.at)) {
    await sleepUntil(task.at)
    attempts.push(resolve(task))
  }
  return Promise.all(attempts)
}

async function resolve({ callId, conversation }: Task): Promise<Attempt> {
  const begunAt = now()
  const outcome = await tryToResolve(callId, conversation)
  return { callId, conversation, who: input.who, begunAt, endedAt: now(), outcome }
}

async function tryToResolve(callId: string, conversation: string): Promise<Attempt['outcome']> {
  const { who } = input
  const value = { answeredBy: who, callId }
  try {
    const result = await store.commit(conversation, {
      events: [{ type: 'resolution', content: { callId, round: 1, kind: 'approval', status: 'resolved', value, who } }],
      resolve: [{ callId, round: 1, status: 'resolved', result: value }],
    })
    if (result.ok) return { type: 'won', seq: result.seq }
    if (result.conflict !== 'stale') return { type: 'refused', conflict: result.conflict }
    return { type: 'lost', winner: result.winner ?? null }
  } catch (error) {
    return { type: 'failed', failure: describeFailure(error) }
  }
}

function now(): number {
  return performance.timeOrigin + performance.now()
}
