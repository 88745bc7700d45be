import { type Clock, withTimeout } from '../base/clock.ts'
import { StateRefusedError } from '../base/errors/definition-errors.ts'
import { readOptions } from '../base/errors/read-options.ts'
import { ConversationNotFoundError } from '../base/errors/store-errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { JsonObject } from '../base/json.ts'
import { uuidV7 } from '../base/uuid-v7.ts'
import type { Agent } from '../define/agent.ts'
import { checkedUpdate, readState, updateState } from '../define/agent-state.ts'
import type { ConversationState } from '../log/state.ts'
import { checkId } from '../store/checks.ts'
import type { ConversationRef } from '../store/records.ts'
import type { TenantStore } from '../store/store.ts'

/** Options of `setState`. */
export type SetStateOptions = {
  /** The same key changes the state once, however often it is sent. */
  readonly key?: string
}

type Where = {
  readonly id: string
  readonly agent: Agent
  readonly store: TenantStore
  readonly state: () => Promise<ConversationState>
}

/** The state of a conversation as its agent reads it: a copy, which is the caller's own. */
export async function readConversationState({ id, agent, store, state }: Where): Promise<JsonObject> {
  const folded = await existing(id, store, state)
  if (!agent.state) return {}
  const read = await readState(agent.state, folded.appState?.values, { agent: agent.name, conversationId: id })
  return structuredClone(read)
}

/** How often a change is computed again because its log grew. Each time another writer got ahead; only one that the function itself starts gets ahead for ever. */
const mostTries = 100

/**
 * Changes the state of a conversation, and resolves with the state after it, when it is durable. The state may change before the commit: then it is
 * computed again.
 */
export async function setConversationState(
  { id, agent, store, state, who }: Where & { readonly who: string },
  update: unknown,
  options?: SetStateOptions,
): Promise<JsonObject> {
  const { key } = readOptions('options', options, ['key'])
  if (key !== undefined) checkId('key', key)
  const given = checkedUpdate(update)
  const definition = agent.state
  if (!definition) throw new StateRefusedError(`the agent '${agent.name}' has no 'state'; define it with one`)
  for (let tries = 0; tries < mostTries; tries++) {
    // A store that may send a change twice must not have the second refused: it would be computed again, and made twice.
    const keyed = key === undefined ? { resendKey: `state/${uuidV7()}` } : { key: `state/${key}`, digest: 'setState' }
    const folded = await existing(id, store, state)
    const values = folded.appState?.values
    const where = { agent: agent.name, conversationId: id }
    const { patch, state: after } = await updateState(definition, values, [given], where)
    if (!patch && key === undefined) return after
    const content = { patch: patch ?? { set: {}, remove: [] }, exposed: definition.exposed, who }
    failpoint('state.before_commit')
    const result = await store.commit(id, {
      events: [{ type: 'state_set', content }],
      expectedSeq: folded.lastSeq,
      ...keyed,
    })
    failpoint('state.after_commit')
    // Durable from here: every reader of the log finds the change.
    if (result.ok && result.seq === folded.lastSeq + 1) return after
    // A key that was used before: the state has its change already.
    if (result.ok) return readConversationState({ id, agent, store, state })
  }
  const why = `the log of '${id}' grew ${mostTries} times while the change was computed`
  throw new StateRefusedError(`${why}; do not write to the conversation in the function that computes it`)
}

/**
 * Changes of one conversation that come at once from this process are made one after another, so that none is computed again because of the others. A change
 * that takes longer than `patienceMs` is overtaken.
 */
export class ChangesInTurn {
  readonly #clock: Clock
  readonly #last = new Map<string, Promise<unknown>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async inTurn<T>({ tenant, id }: ConversationRef, change: () => Promise<T>): Promise<T> {
    const key = JSON.stringify([tenant, id])
    const before = this.#last.get(key)
    const made = before === undefined ? change() : withTimeout(before, patienceMs, this.#clock, () => null).then(change)
    const settled = made.then(nothing, nothing)
    this.#last.set(key, settled)
    try {
      return await made
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key)
    }
  }
}

const patienceMs = 1_000
const nothing = (): void => {}

/** Also of a conversation whose log is empty: a fork of nothing, or one that the application made with `putConversation`. */
async function existing(id: string, store: TenantStore, state: () => Promise<ConversationState>) {
  const folded = await state()
  if (folded.lastSeq === 0 && !(await store.standing(id))) throw new ConversationNotFoundError(id)
  return folded
}
