import { PerdureError } from '../../../src/base/errors/perdure-error.ts'
import type { WhenBusy } from '../../../src/engine/turn-options.ts'
import type { TurnHandle } from '../../../src/runtime/conversation.ts'
import type { PendingItem } from '../../../src/view/view.ts'
import type { Host, Scenario } from './scenario.ts'

const mostRounds = 200

/** Tells a scenario to its end. A repetition after a crash sends the same keys and answers what still waits. */
export async function play(scenario: Scenario, host: Host): Promise<void> {
  for (const [index, text] of scenario.messages.entries()) {
    const turn = await send(scenario, host, text, index === 0 ? 'reject' : 'queue')
    const { title } = scenario
    if (title !== undefined) await insisting(host, () => host.chat(scenario).rename(`${title} ${index}`))
    if (!scenario.isPoison) await attend(turn, scenario, host)
  }
}

/** Sees and passes on every event that is committed, until the process ends. */
export async function watch(scenario: Scenario, host: Host): Promise<void> {
  const id = host.idOf(scenario)
  for (;;) {
    try {
      for await (const event of host.chat(scenario).watch()) {
        if ('content' in event) host.tell({ type: 'seen', id, event })
      }
      return
    } catch (error) {
      if (!host.isStoreAway()) throw error
      await host.pause()
    }
  }
}

/** What people do when they read a certain piece of a message that is being written. */
export function interruptions(scenario: Scenario, host: Host): (delta: string, signal?: AbortSignal) => Promise<void> {
  return async (delta, signal) => {
    switch (delta) {
      case '(cancel)':
        return await Promise.race([cancel(scenario, host, 'be cancelled'), untilAborted(signal)])
      case '(interrupt)':
        await send(scenario, host, 'do this instead', 'interrupt')
        return await untilAborted(signal)
      case '(steer)':
        return void (await send(scenario, host, 'turn left', 'steer'))
      case '(queue)':
        return void (await send(scenario, host, 'then that', 'queue'))
      case '(die)':
        host.die()
        return await new Promise(() => {})
      default:
    }
  }
}

async function send(scenario: Scenario, host: Host, text: string, whenBusy: WhenBusy): Promise<TurnHandle> {
  const turn = await insisting(host, () => host.chat(scenario).send(text, { key: text, whenBusy }))
  host.tell({ type: 'sent', id: host.idOf(scenario), key: text, turnId: turn.turnId })
  return turn
}

/** Ends the turn of that message. Resolves when its end is durable. */
export async function cancel(scenario: Scenario, host: Host, text: string): Promise<void> {
  const { turnId } = await send(scenario, host, text, 'queue')
  const ended = await insisting(host, () => host.chat(scenario).cancel({ turnId }))
  if (ended) host.tell({ type: 'ended', id: host.idOf(scenario), turnId: ended.turnId, status: ended.status })
}

/** Says what there is to say to a pending call. False when everybody leaves it alone. */
export async function answer(scenario: Scenario, host: Host, pending: PendingItem): Promise<boolean> {
  const chat = host.chat(scenario)
  const { callId, round, kind, tool } = pending
  if (tool === 'nobody') return false
  if (kind === 'elicitation') await takeTime(scenario, host, pending)
  await insisting(host, () => {
    if (kind === 'approval') return tool === 'wipe' ? chat.deny(pending, { reason: 'no' }) : chat.approve(pending)
    if (kind === 'recovery') return chat.answer(pending, tool === 'ship' ? { result: 'ship done' } : 'rerun')
    return chat.answer(pending, kind === 'client_exec' ? { ok: true, result: 'a cat' } : 'blue')
  })
  // Accepted or too late: either way an answer is there.
  host.tell({ type: 'answered', id: pending.conversationId, callId, round })
  return true
}

const year = 365 * 24 * 3_600_000

/** Leaves a note for others, and has the call wait longer. */
async function takeTime(scenario: Scenario, host: Host, pending: PendingItem): Promise<void> {
  const chat = host.chat(scenario)
  const { seq } = await insisting(host, () => chat.note('asked', 'never said to a model'))
  host.tell({ type: 'noted', id: host.idOf(scenario), seq })
  const { callId, round, conversationId: id } = pending
  const moved = await insisting(host, () => chat.extendDeadline(pending, { expiresInMs: year }))
  if (moved.accepted) host.tell({ type: 'moved', id, callId, round, expiresAt: moved.expiresAt })
}

/** The application changes the state while a tool runs. The key makes it once, however often the tool is run again. */
export async function setOutside(scenario: Scenario, host: Host, callId: string): Promise<void> {
  const add = (state: { readonly [key: string]: unknown }) => ({ outside: [...(state['outside'] as string[]), callId] })
  await insisting(host, () => host.chat(scenario).setState(add, { key: callId }))
}

async function attend(turn: TurnHandle, scenario: Scenario, host: Host): Promise<void> {
  for (let round = 0; round < mostRounds; round++) {
    const outcome = await insisting(host, () => turn.outcome())
    if (outcome.status === 'detached' && host.isStoreAway()) {
      await host.pause()
      continue
    }
    if (outcome.status === 'detached') throw new Error(`the turn cannot be followed: ${outcome.reason}`)
    if (outcome.status !== 'waiting') {
      host.tell({ type: 'ended', id: host.idOf(scenario), turnId: turn.turnId, status: outcome.status })
      return
    }
    const answers = outcome.pending.map((pending) => answer(scenario, host, pending))
    if (!(await Promise.all(answers)).includes(true)) await host.pause()
  }
  throw new Error(`turn '${turn.turnId}' still waits after ${mostRounds} answers`)
}

/** People try again when they hear of a store that failed. */
async function insisting<T>(host: Host, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const isFailure = PerdureError.isInstance(error) && (error.retryable || error.code === 'store_failed')
      if (!isFailure) throw error
      await host.pause()
    }
  }
}

export function untilAborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve()
    signal?.addEventListener('abort', () => resolve(), { once: true })
  })
}
