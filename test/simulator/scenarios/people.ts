import type { ErrorCode } from '../../../src/base/errors/codes.ts'
import { PerdureError } from '../../../src/base/errors/perdure-error.ts'
import type { WhenBusy } from '../../../src/engine/turn-options.ts'
import type { TurnHandle } from '../../../src/runtime/conversation.ts'
import type { PendingItem } from '../../../src/view/view.ts'
import type { Host, Scenario } from './scenario.ts'

const mostRounds = 600

/** Tells a scenario to its end. A repetition after a crash sends the same keys and answers what still waits. */
export async function play(scenario: Scenario, host: Host): Promise<void> {
  const turnIds = new Map<string, string>()
  for (const [index, text] of scenario.messages.entries()) {
    const turn = await send(scenario, host, text, index === 0 ? 'reject' : 'queue')
    const { title } = scenario
    if (title !== undefined) await insisting(host, () => host.chat(scenario).rename(`${title} ${index}`))
    if (!scenario.isPoison) await attend(turn, scenario, host)
    turnIds.set(text, turn.turnId)
    const again = scenario.triedAgain?.[text]
    if (again) await attend(await tryAgain(scenario, host, turn.turnId, text, again), scenario, host)
  }
  const { edits = {}, unforcedEdits = {} } = scenario
  for (const [text, edited] of Object.entries({ ...edits, ...unforcedEdits })) {
    const turn = await edit(scenario, host, turnIds.get(text)!, edited, text in edits)
    if (!turn) continue
    host.tell({ type: 'sent', id: host.idOf(scenario), key: edited, turnId: turn.turnId })
    await attend(turn, scenario, host)
  }
}

/** Null: refused, and left at that. */
async function edit(
  scenario: Scenario,
  host: Host,
  replaces: string,
  text: string,
  insists: boolean,
): Promise<TurnHandle | null> {
  const send = (options: { readonly force?: true }): Promise<TurnHandle> =>
    insisting(host, () => host.chat(scenario).send(text, { key: text, replaces, ...options }), 'conversation_busy')
  try {
    return await send({})
  } catch (error) {
    if (!isForceNeeded(error)) throw error
    if (!insists) return null
    host.tell({ type: 'forced', id: host.idOf(scenario), key: text })
    return await send({ force: true })
  }
}

function isForceNeeded(error: unknown): boolean {
  return PerdureError.isInstance(error) && error.code === 'force_needed'
}

async function tryAgain(
  scenario: Scenario,
  host: Host,
  turnId: string,
  text: string,
  how: 'unforced' | 'forced',
): Promise<TurnHandle> {
  const chat = host.chat(scenario)
  const key = `again: ${text}`
  if (how === 'forced') {
    const allowed = await refusedOrHarmless(scenario, host, turnId)
    if (allowed) return allowed
  }
  const retry = (force: boolean) => {
    if (force) host.tell({ type: 'forced', id: host.idOf(scenario), key })
    return () => chat.retry(turnId, force ? { key, force } : { key })
  }
  const turn = await insisting(host, retry(how === 'forced'), 'conversation_busy').catch(async (error: unknown) => {
    if (!(isForceNeeded(error) && (await hasRunSince(scenario, host, turnId)))) throw error
    return insisting(host, retry(true), 'conversation_busy')
  })
  host.tell({ type: 'sent', id: host.idOf(scenario), key, turnId: turn.turnId })
  return turn
}

/** Whether a tool ran in a turn that others queued behind this one. */
async function hasRunSince(scenario: Scenario, host: Host, turnId: string): Promise<boolean> {
  const log = await insisting(host, () => host.chat(scenario).events())
  const since = log.findLastIndex(({ type, content }) => type === 'user_msg' && content.turnId === turnId)
  return log.slice(since).some(({ type, content }) => type === 'tool_call' && content.turnId !== turnId)
}

/** Null: refused, because of what its tools did, or because it was tried again before a process ended. A turn that was cut off before a tool began may be tried again. */
async function refusedOrHarmless(scenario: Scenario, host: Host, turnId: string): Promise<TurnHandle | null> {
  const refusals = ['force_needed', 'turn_superseded', 'conversation_busy']
  const chat = host.chat(scenario)
  try {
    // With a key, so that the same person gets the same turn where a process ended after it.
    const turn = await insisting(host, () => chat.retry(turnId, { key: `harmless: ${turnId}` }))
    const log = await insisting(host, () => chat.events())
    const calls = log.flatMap(({ type, content }) =>
      type === 'tool_call' && content.turnId === turnId ? [content.callId] : [],
    )
    if (!log.some(({ type, content }) => type === 'tool_started' && calls.includes(content.callId))) return turn
  } catch (error) {
    if (PerdureError.isInstance(error) && refusals.includes(error.code)) return null
    throw error
  }
  throw new Error('a turn whose tools must not run twice was tried again without force')
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

/** People try again when they hear of a store that failed, and where they wait for something to pass. */
async function insisting<T>(host: Host, work: () => Promise<T>, passing?: ErrorCode): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const isFailure =
        PerdureError.isInstance(error) && (error.retryable || error.code === 'store_failed' || error.code === passing)
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
