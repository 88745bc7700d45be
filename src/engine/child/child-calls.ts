import { PerdureError } from '../../base/errors/perdure-error.ts'
import { ChildConversationError } from '../../base/errors/runtime-errors.ts'
import type { Json } from '../../base/json.ts'
import { callEnd } from '../../log/call-phase.ts'
import { callIdOfChild, childCalls, childIdOf, childTurnIdOf } from '../../log/child-call.ts'
import { encode } from '../../log/codec.ts'
import { decide, endOf } from '../../log/decide.ts'
import type { TurnEnded, UserMessage } from '../../log/events.ts'
import {
  type CallState,
  type ConversationState,
  findTurn,
  keptMessages,
  openTurn,
  type TurnState,
  textWithEnd,
  usageOf,
} from '../../log/state.ts'
import { checkId } from '../../store/checks.ts'
import type { TenantStore } from '../../store/store.ts'
import type { WorkingSets } from '../../store/working-sets.ts'
import type { Family, ParentCall } from './child-family.ts'

/** What an owner owes to its child agents, and to the call that started it, if one did. */
export class ChildCalls {
  readonly #family: Family
  readonly #agent: string
  readonly #started = new Set<string>()
  readonly #cancelled = new Set<string>()
  readonly #neverStarted = new Set<string>()
  #isParentTold = false

  constructor(family: Family, agent: string) {
    this.#family = family
    this.#agent = agent
  }

  /** Whether other conversations must hear something that follows from this log. The conversation stays due until they have. */
  areOwed(state: ConversationState): boolean {
    return this.#endedUntold(state) !== null || this.#unstarted(state).length > 0
  }

  /**
   * Tells the parent how this conversation ended, and starts the child agents that are waited for. `state` must be committed: another log
   * takes only what is in this one, so a process that has lost its lease says nothing that the log does not.
   */
  async settle(state: ConversationState): Promise<void> {
    const ended = this.#endedUntold(state)
    if (ended) {
      await this.#family.resolveParent(childResult(this.#agent, ended, ended.end))
      this.#isParentTold = true
    }
    for (const call of this.#unstarted(state)) {
      await this.#family.start(call, openTurn(state)!)
      this.#started.add(call.callId)
    }
  }

  #unstarted(state: ConversationState): CallState[] {
    return childCalls(state).filter(({ callId }) => !this.#started.has(callId))
  }

  /** The turn whose end is the result of the parent's call, once it has ended and as long as the parent may not know. */
  #endedUntold(state: ConversationState): (TurnState & { readonly end: NonNullable<TurnState['end']> }) | null {
    const { parent } = this.#family
    const turn = parent && !this.#isParentTold ? findTurn(state, childTurnIdOf(parent.callId)) : null
    return turn?.end ? { ...turn, end: turn.end } : null
  }

  /** Whether a child that was started has not ended its call yet. */
  areOpen(state: ConversationState): boolean {
    return childCalls(state).some(({ callId }) => !this.#neverStarted.has(callId))
  }

  /** Asks every child of the open turn to end. */
  async cancel(state: ConversationState): Promise<void> {
    const who = openTurn(state)?.cancel?.who ?? 'system'
    for (const { callId } of childCalls(state)) {
      if (this.#cancelled.has(callId)) continue
      if (!(await this.#family.cancel(callId, who))) this.#neverStarted.add(callId)
      this.#cancelled.add(callId)
    }
  }

  get patienceMs(): number {
    return this.#family.patienceMs
  }

  allowOneMore(): () => void {
    return this.#family.allowOneMore()
  }
}

/** How an error begins that stands for a result which the parent's log cannot hold. */
export const unrecordable = 'its result cannot be recorded'

/** The result of a child agent's turn for the call that started it: its object, the result of its `untilTool`, or its text; else why there is none. */
export function childResult(
  agent: string,
  turn: TurnState,
  { status, reason }: Pick<TurnEnded, 'status' | 'reason'>,
): Json {
  const usage = { ...usageOf(turn) }
  if (status === 'completed') return { ok: true, result: resultOf(turn, reason), usage }
  const what = status === 'cancelled' ? 'was cancelled' : status === 'halted' ? 'was halted' : 'failed'
  const why = status === 'failed' ? failureTold(turn, reason) : reason
  return { ok: false, error: `the agent '${agent}' ${what}${why === null ? '' : `: ${why}`}`, usage }
}

/** A hook's error may quote the message it judged. Where that message is withheld, the parent gets the code alone. */
function failureTold(turn: TurnState, reason: string | null): string | null {
  return keptMessages(turn).at(-1)?.withheld ? (reason?.split(':', 1)[0] ?? null) : reason
}

function resultOf(turn: TurnState, reason: string | null): Json {
  const last = keptMessages(turn).at(-1)
  if (last?.object !== undefined) return last.object
  if (reason === 'until_tool') {
    const ended = turn.calls.findLast((call) => call.name === turn.options.untilTool && callEnd(call)?.ok)
    const end = ended && callEnd(ended)
    if (end?.ok) return end.result
  }
  const text = (last?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
  // The parent's model reads this text alone.
  return textWithEnd(text, last?.finishReason ?? null)
}

/** The message for a child agent: the text, if the arguments are a single text, else the arguments as JSON. */
export function childMessage(args: Json): UserMessage {
  return { parts: [{ type: 'text', text: textOf(args) }] }
}

function textOf(args: Json): string {
  if (typeof args === 'string' && args.trim() !== '') return args
  const values = typeof args === 'object' && args !== null ? Object.values(args) : []
  const [only] = values
  return values.length === 1 && typeof only === 'string' && only.trim() !== '' ? only : encode(args)
}

/** The call a conversation was started for; null for one that callers talk to. Only an id that a child can have is looked up. */
export async function parentCallOf(store: TenantStore, id: string): Promise<ParentCall | null> {
  const callId = callIdOfChild(id)
  if (callId === null) return null
  try {
    const parent = (await store.getConversation(id))?.parent
    if (parent?.callId === undefined || childIdOf(parent.callId) !== id) return null
    return { conversationId: parent.id, callId: parent.callId }
  } catch (error) {
    if (!PerdureError.isInstance(error) || error.code !== 'conversation_unreadable') throw error
    return callingFor(store, callId)
  }
}

/** The same, also for the id that a child will have once its call has been approved. */
export async function callOfChild(store: TenantStore, id: string): Promise<ParentCall | null> {
  const callId = callIdOfChild(id)
  if (callId === null) return null
  return (await parentCallOf(store, id)) ?? (await callingFor(store, callId))
}

/** The row of the call knows its conversation too, where that of the child is damaged or not there. */
async function callingFor(store: TenantStore, callId: string): Promise<ParentCall | null> {
  const call = await store.getToolCall(callId)
  return call?.executor === 'agent' ? { conversationId: call.conversationId, callId } : null
}

/**
 * Before a child agent is worked on: its parent may not wait for it any more, because it was started, or went on, while its parent was being
 * deleted or cancelled elsewhere. Then it is deleted, or asked to end. False when it is gone.
 */
export async function admitChild(
  parts: Parts,
  id: string,
  state: ConversationState,
  { conversationId, callId }: ParentCall,
): Promise<boolean> {
  const { store } = parts
  const turn = openTurn(state)
  const turnId = childTurnIdOf(callId)
  if (turn?.turnId !== turnId) return true
  const row = await store.getToolCall(callId)
  if (row?.status === 'pending') {
    const who = keptMessages(turn).length === 0 ? await cancellerOf(parts, conversationId) : null
    if (who !== null) await store.commit(id, cancelOf(callId, who))
    return true
  }
  if (!row && !(await store.getConversation(conversationId))) {
    await store.deleteConversation(id)
    return false
  }
  // Version 0.1 resolved the parent's call first: a child that died before it recorded its own end does that now.
  if (endOf(turnId, decide(state, new Set(), []).events)) return true
  await store.commit(id, cancelOf(callId, 'system'))
  return true
}

/**
 * Who cancelled the open turn of a conversation; null: it is not cancelled. An owner that cancels leaves a child alone that is not there yet. A process that
 * lost the conversation may start it just then, so a child looks once, before its first step: it was started after the cancel was recorded, and sees it.
 */
async function cancellerOf(parts: Parts, id: string): Promise<string | null> {
  const state = await readable(parts, id)
  return (state && openTurn(state)?.cancel?.who) ?? null
}

/** Asks the child of a call to end, once. */
export function cancelOf(callId: string, who: string) {
  const content = { turnId: childTurnIdOf(callId), who }
  return { events: [{ type: 'cancel_requested' as const, content }], key: `cancel/${callId}` }
}

/**
 * Refuses to talk to a child agent past its parent, and to take the id of one that has not been started yet. Reads nothing for an id that no
 * child has.
 */
export async function refuseChild(store: TenantStore, id: string): Promise<void> {
  checkId('conversation id', id)
  const call = await callOfChild(store, id)
  if (call) throw new ChildConversationError(id, call.conversationId)
}

type Parts = { readonly store: TenantStore; readonly workingSets: WorkingSets; readonly tenant: string }

/** The child agents a conversation waits for, and theirs, by their ids. One whose log cannot be read here is omitted and counts as running. */
export async function loadChildren(parts: Parts, state: ConversationState): Promise<Map<string, ConversationState>> {
  const children = new Map<string, ConversationState>()
  const load = async (from: ConversationState): Promise<void> => {
    for (const { callId } of childCalls(from)) {
      const childId = childIdOf(callId)
      const child = await readable(parts, childId)
      if (!child) continue
      children.set(childId, child)
      await load(child)
    }
  }
  await load(state)
  return children
}

/** The ids of the child agents that a conversation waits for, and theirs; as far as they can be found out here. */
export async function childIdsBelow(parts: Parts, id: string): Promise<string[]> {
  const state = await readable(parts, id)
  return state ? [...(await loadChildren(parts, state)).keys()] : []
}

/** Null for a log that has what this version cannot fold. */
async function readable({ store, workingSets, tenant }: Parts, id: string): Promise<ConversationState | null> {
  try {
    return (await workingSets.load(store, tenant, id)).state
  } catch (error) {
    if (PerdureError.isInstance(error) && error.code.startsWith('event_')) return null
    throw error
  }
}
