import { SessionExistsError } from '../../base/errors/flow-errors.ts'
import { checkSignal } from '../../base/errors/read-options.ts'
import { ConversationExistsError } from '../../base/errors/store-errors.ts'
import type { TurnOutcome } from '../../engine/live/turn-outcome.ts'
import type { Page } from '../../store/store.ts'
import type { WatchEvent } from '../../view/growing-view.ts'
import type { Conversation, TurnHandle } from '../conversation.ts'
import type { FlowSession } from '../flow-session.ts'
import { Refused, setPermission } from '../permit.ts'
import type { ListedConversation } from '../read/lists.ts'
import { BegunMeanwhile } from '../send-message.ts'
import type { AboutCall } from './asked-call.ts'
import type { AuthorizeAction } from './authorize.ts'
import { type Gate, recheckMs } from './gate.ts'

/** What a handle is guarded with. */
export type Guard = {
  readonly gate: Gate
  /** A page of the forks that the caller may read. */
  readonly forks: (forkOf: string, page?: Page) => Promise<ListedConversation[]>
}

type Guarded<Handle> = {
  readonly open: Handle
  /** The same verbs in a place without that conversation. A refused verb runs there, so that refusal looks like absence. */
  readonly absent: Handle
}

/** Actions that also apply to a conversation that exists only as a snapshot: the handle asks for the owner in it. */
const mayRestore: ReadonlySet<AuthorizeAction> = new Set(['continue', 'delete'])

/** `isNew`: a message must not be added to a conversation that another caller has opened since. */
export type ConversationOf = (id: string, agent: string | null, isNew: boolean) => Guarded<Conversation>

/** The verbs of a conversation, each asked for first. `handleOf` gives the handles of this id and of its forks. */
export function authorizedConversation(
  { gate, forks }: Guard,
  id: string,
  agent: string | null,
  handleOf: ConversationOf,
): Conversation {
  const { open, absent } = handleOf(id, agent, false)
  const ask = async <T>(
    action: AuthorizeAction,
    run: (handle: Conversation) => Promise<T>,
    about?: AboutCall,
  ): Promise<T> => {
    if (!(await (mayRestore.has(action) ? gate.allows(action, id) : gate.shows(action, id, about)))) return run(absent)
    try {
      return await run(open)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      return run(absent)
    }
  }

  /** The result of a long wait is returned only if the caller may still read it. */
  const waited = async (run: (handle: Conversation) => Promise<TurnOutcome>, turnId: string): Promise<TurnOutcome> => {
    try {
      if (!(await gate.shows('read', id))) return await run(absent)
      const from = gate.clock.now()
      const outcome = await run(open)
      const isLong = gate.clock.now() - from >= recheckMs
      return isLong && !(await gate.shows('read', id)) ? await run(absent) : outcome
    } catch (error) {
      return { status: 'detached', turnId, reason: error instanceof Error ? error.message : String(error) }
    }
  }

  const turnOf = (turn: TurnHandle): TurnHandle => ({
    turnId: turn.turnId,
    outcome: () =>
      waited((handle) => (handle === open ? turn : handle.turn(turn.turnId)).outcome(), turn.turnId) as never,
    get textStream() {
      return texts(turn)
    },
  })

  async function* texts(turn: TurnHandle): AsyncGenerator<string, void, void> {
    if (!(await gate.shows('read', id))) yield* absent.turn(turn.turnId).textStream
    else yield* untilLost(gate, id, turn.textStream)
  }

  /** Where an agent is named, the message may open a conversation. Without one, it is refused as where there is none. */
  const sendHidden: Conversation['send'] = async (message, options) => {
    if (agent !== null) throw new ConversationExistsError(id)
    return absent.send(message, options)
  }

  const begin = async <T>(run: (handle: Conversation) => Promise<T>, hidden: () => Promise<T>): Promise<T> => {
    for (;;) {
      const { isAllowed, isNew } = await gate.judge('send', id)
      if (!isAllowed) return hidden()
      try {
        return await run(handleOf(id, agent, isNew).open)
      } catch (error) {
        if (error instanceof Refused) return hidden()
        // Another caller has opened it since: it must be asked for again, as what it is now.
        if (!(error instanceof BegunMeanwhile)) throw error
      }
    }
  }

  const conversation: Conversation = {
    id,
    send: async (message, options) => {
      const run = (handle: Conversation) => handle.send(message, options) as Promise<TurnHandle>
      return turnOf(await begin(run, () => sendHidden(message, options) as Promise<TurnHandle>)) as never
    },
    retry: async (turnId, options) => {
      const run = (handle: Conversation) => handle.retry(turnId, options) as Promise<TurnHandle>
      return turnOf(await begin(run, () => run(absent))) as never
    },
    outcome: () => waited((handle) => handle.outcome(), '') as never,
    turn: (turnId) => turnOf(open.turn(turnId)),
    cancel: (options) => ask('cancel', (handle) => handle.cancel(options)),
    approve: (call, options) =>
      ask('approve', (handle) => handle.approve(call, options), { call, args: editedIn(options) }),
    deny: (call, options) => ask('deny', (handle) => handle.deny(call, options), { call }),
    answer: (call, value, options) => ask('answer', (handle) => handle.answer(call, value, options), { call }),
    extendDeadline: (call, options) =>
      ask('extendDeadline', (handle) => handle.extendDeadline(call, options), { call }),
    note: (name, data) => ask('note', (handle) => handle.note(name, data)),
    state: () => ask('read', (handle) => handle.state()),
    setState: (update, options) => ask('setState', (handle) => handle.setState(update, options)),
    view: (options) => ask('read', (handle) => handle.view(options)),
    history: (page) => ask('read', (handle) => handle.history(page)),
    events: (range) => ask('read', (handle) => handle.events(range)),
    modelCalls: (range) => ask('audit', (handle) => handle.modelCalls(range)),
    explain: (modelCall) => ask('audit', (handle) => handle.explain(modelCall)),
    async *watch(options) {
      const { isAllowed, isNew } = await gate.judge('read', id)
      if (!isAllowed) return yield* absent.watch(options)
      const events = whileAllowed(gate, id, options?.signal, (signal) => open.watch({ ...options, signal }))
      yield* untilOthers(gate, id, isNew, events, () => absent.watch(options))
    },
    fork: (async (options) => {
      const newId = options?.id
      const isAllowed = await gate.shows('fork', id)
      if (isAllowed && newId !== undefined && (await hidesTarget(gate, newId))) throw new ConversationExistsError(newId)
      const copy = await (isAllowed ? open : absent).fork(options)
      const named = typeof options?.agent === 'object' ? options.agent.name : options?.agent
      return authorizedConversation({ gate, forks }, copy.id, named ?? agent, handleOf)
    }) as Conversation['fork'],
    forks: (page) => ask('read', (handle) => (handle === open ? forks(id, page) : handle.forks(page))),
    lineage: (options) => ask('read', async (handle) => visible(gate, await handle.lineage(options))),
    continue: () => ask('continue', (handle) => handle.continue()),
    detach: () => ask('detach', (handle) => handle.detach()),
    rename: (title) => ask('rename', (handle) => handle.rename(title)),
    // Deleting nothing leaves a trace too, so it is not even tried.
    delete: () => ask('delete', async (handle) => (handle === open ? handle.delete() : false)),
  }
  setPermission(conversation, { conversation: open, onLost: (lost) => gate.onLost(id, lost) })
  return conversation
}

/** Where a fork was cut from, up to the first that the caller may not read: that one looks deleted. */
async function visible<Ancestor extends { readonly id: string }>(
  gate: Gate,
  lineage: readonly Ancestor[],
): Promise<Ancestor[]> {
  const shown: Ancestor[] = []
  for (const ancestor of lineage) {
    if (!(await gate.allows('read', ancestor.id))) break
    shown.push(ancestor)
  }
  return shown
}

/** An id that is taken is refused by the store, whosever it is; one that a hidden child will have must not name its parent. */
async function hidesTarget(gate: Gate, id: unknown): Promise<boolean> {
  return typeof id === 'string' && id !== '' && (await gate.hides(id))
}

type SessionOf = (id: string) => Guarded<FlowSession<unknown>>

/** The verbs of a session, each asked for first. */
export function authorizedSession({ gate, forks }: Guard, id: string, handleOf: SessionOf): FlowSession<unknown> {
  const { open, absent } = handleOf(id)
  const ask = async <T>(action: AuthorizeAction, run: (handle: FlowSession<unknown>) => Promise<T>): Promise<T> =>
    run((await (action === 'delete' ? gate.allows(action, id) : gate.shows(action, id))) ? open : absent)

  /** For verbs that resolve when the session next waits: the result is returned only if the caller may still read it. */
  const waited = async <T>(action: AuthorizeAction, run: (handle: FlowSession<unknown>) => Promise<T>): Promise<T> => {
    if (!(await gate.shows(action, id))) return run(absent)
    const from = gate.clock.now()
    const standing = await run(open)
    const isLong = gate.clock.now() - from >= recheckMs
    return isLong && !(await gate.shows('read', id)) ? run(absent) : standing
  }

  return {
    id,
    async start(input, options) {
      if (!(await gate.allows('start', id))) throw new SessionExistsError(id)
      return open.start(input, options)
    },
    resume: (value, options) => waited('answer', (handle) => handle.resume(value, options)),
    outcome: (options) => waited('read', (handle) => handle.outcome(options)),
    status: () => ask('read', (handle) => handle.status()),
    pending: () => ask('read', (handle) => handle.pending()),
    suspensions: () => ask('read', (handle) => handle.suspensions()),
    wakeAt: () => ask('read', (handle) => handle.wakeAt()),
    result: () => ask('read', (handle) => handle.result()),
    record: (options) => ask('read', (handle) => handle.record(options)),
    events: (range) => ask('read', (handle) => handle.events(range)),
    async *watch(options) {
      if (!(await gate.shows('read', id))) yield* absent.watch(options)
      else yield* whileAllowed(gate, id, options?.signal, (signal) => open.watch({ ...options, signal }))
    },
    async fork(newId, options) {
      const isAllowed = await gate.shows('fork', id)
      if (isAllowed && (await hidesTarget(gate, newId))) throw new SessionExistsError(newId)
      await (isAllowed ? open : absent).fork(newId, options)
      return authorizedSession({ gate, forks }, newId, handleOf)
    },
    forks: (page) => ask('read', (handle) => (handle === open ? forks(id, page) : handle.forks(page))),
    lineage: (options) => ask('read', async (handle) => visible(gate, await handle.lineage(options))),
    continue: (options) => waited('continue', (handle) => handle.continue(options)),
    delete: () => ask('delete', (handle) => handle.delete()),
  }
}

/** The arguments that an approval names. */
function editedIn(options: unknown): unknown {
  return (Object(options) as { readonly args?: unknown }).args
}

/**
 * The events of a conversation that may have been opened after it was asked for, or deleted and opened again: before the first of each log it is asked whose that is.
 * Ends when the conversation is hidden from the caller. Before the first event, a hidden conversation looks like a missing one.
 */
async function* untilOthers(
  gate: Gate,
  id: string,
  isNew: boolean,
  events: AsyncGenerator<WatchEvent, void, void>,
  hidden: () => AsyncGenerator<WatchEvent, void, void>,
): AsyncGenerator<WatchEvent, void, void> {
  let isUnjudged = isNew
  let hasTold = false
  for await (const event of events) {
    // A second snapshot may be of another log under the same id.
    if (hasTold && event.type === 'snapshot') isUnjudged = true
    if (isUnjudged && !isOfNothing(event)) {
      const now = await gate.judge('read', id)
      if (!now.isAllowed) return yield* hasTold ? [] : hidden()
      // Deleted since: no one can be asked whose it was.
      if (now.isNew) continue
      isUnjudged = false
    }
    hasTold = true
    yield event
  }
}

function isOfNothing(event: WatchEvent): boolean {
  return event.type === 'snapshot' && event.view.seq === 0 && event.view.unknownEvent === undefined
}

/** A stream that ends when the conversation may not be read any more. Rejects when that could not be found out. */
async function* whileAllowed<T>(
  gate: Gate,
  id: string,
  given: AbortSignal | undefined,
  watch: (signal: AbortSignal) => AsyncGenerator<T, void, void>,
): AsyncGenerator<T, void, void> {
  if (given !== undefined) checkSignal('signal', given)
  const lost = new AbortController()
  let failure: unknown = null
  const stop = gate.onLost(id, (error) => {
    failure = error
    lost.abort()
  })
  try {
    yield* watch(given ? AbortSignal.any([given, lost.signal]) : lost.signal)
    if (failure !== null) throw failure
  } finally {
    stop()
  }
}

/** The same for a stream that takes no signal. */
async function* untilLost<T>(gate: Gate, id: string, stream: AsyncIterable<T>): AsyncGenerator<T, void, void> {
  const iterator = stream[Symbol.asyncIterator]()
  let stop = (): void => {}
  const lost = new Promise<{ readonly failure: unknown }>((resolve) => {
    stop = gate.onLost(id, (failure) => resolve({ failure }))
  })
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), lost])
      if ('failure' in next) {
        if (next.failure !== null) throw next.failure
        return
      }
      if (next.done) return
      yield next.value
    }
  } finally {
    stop()
    // Not awaited: it ends with the next event of the conversation.
    void iterator.return?.()
  }
}
