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

/** The state of a conversation as its agent reads it. */
export async function readConversationState({ id, agent, state }: Where): Promise<JsonObject> {
  const folded = await existing(id, state)
  if (!agent.state) return {}
  return readState(agent.state, folded.appState?.values, { agent: agent.name, conversationId: id })
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
    const folded = await existing(id, state)
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

async function existing(id: string, state: () => Promise<ConversationState>): Promise<ConversationState> {
  const folded = await state()
  if (folded.lastSeq === 0) throw new ConversationNotFoundError(id)
  return folded
}
