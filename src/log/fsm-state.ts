import type { Json } from '../base/json.ts'
import { callPhase } from './call-phase.ts'
import type { UserMessage } from './events.ts'
import { type CallState, type ConversationState, openTurn, type TurnItem, type TurnState } from './state.ts'

/** The phase of a conversation, decided from its log. Live events refine `running`. */
export type ConversationPhase = 'idle' | 'running' | 'awaiting_input' | 'terminating'

/**
 * A cache over the log, so that lists need no fold. The owner writes it with each commit that changes it, and when it releases the lease; `lastSeq` says how
 * far the owner had read. On disagreement the log wins.
 */
export type FsmState = {
  readonly state: ConversationPhase
  /** The ids of the calls that wait for an answer. */
  readonly pending: Json
  readonly lastSeq: number
  /** Set while the open turn waits for a scope that cannot be restored: whose it is. */
  readonly scopeMissing?: string
  /** The beginning of the newest message that people may read, for lists. Absent where there is none, and in rows of older versions. */
  readonly lastMessage?: LastMessage
  /** The tokens of the newest model call that the log has, in and out: what the context takes now. Absent where there is none, and in rows of older versions. */
  readonly tokens?: number
}

/** The beginning of a message. */
export type LastMessage = { readonly role: 'user' | 'assistant'; readonly text: string }

/** The status of a conversation or session in a list. Only sessions are `sleeping` or `failed`; one that is `idle` is a fork that was not continued. */
export type ConversationStatus = 'active' | 'suspended' | 'sleeping' | 'idle' | 'ended' | 'failed'

/** What decides whether a list shows a conversation differently than before. */
export type Standing = Pick<FsmState, 'state' | 'pending' | 'scopeMissing'>

/** Costs no look at messages, so that a commit which changes no row pays for no excerpt. */
export function standingOf(state: ConversationState): Standing {
  const missing = openTurn(state)?.scopeMissing
  const standing = { state: phaseOf(state), pending: pendingCallIds(state) }
  return missing ? { ...standing, scopeMissing: missing.who } : standing
}

/** The cached state that lists and inboxes read. */
export function fsmStateOf(state: ConversationState): FsmState {
  const lastMessage = lastMessageOf(state)
  return {
    ...standingOf(state),
    lastSeq: state.lastSeq,
    ...(lastMessage ? { lastMessage } : {}),
    ...tokensOf(state),
  }
}

/** The cached state once a message has opened a turn where none was open: what `fsmStateOf` would say, without a fold. */
export function fsmStateWith(message: UserMessage, before: ConversationState): FsmState {
  const text = excerptIn(message.parts)
  const lastMessage: LastMessage | null = text === '' ? lastMessageOf(before) : { role: 'user', text }
  const cached = { state: 'running' as const, pending: [], lastSeq: before.lastSeq + 1 }
  return { ...cached, ...(lastMessage ? { lastMessage } : {}), ...tokensOf(before) }
}

/** As far as the newest turns say. */
function tokensOf({ turns }: ConversationState): Pick<FsmState, 'tokens'> {
  for (const { items } of turns.slice(-3).reverse()) {
    for (const item of items.slice(-20).reverse()) {
      if (item.type !== 'assistant') continue
      const { inputTokens = 0, outputTokens = 0 } = item.usage
      if (inputTokens + outputTokens > 0) return { tokens: inputTokens + outputTokens }
    }
  }
  return {}
}

const excerptCharacters = 160

/** Of the newest turns alone: a row is written often, and a turn of tools alone says nothing. */
function lastMessageOf({ turns }: ConversationState): LastMessage | null {
  for (const { items } of turns.slice(-3).reverse()) {
    for (const item of items.slice(-20).reverse()) {
      const text = excerptOf(item)
      if (text !== '') return { role: item.type === 'user' ? 'user' : 'assistant', text }
    }
  }
  return null
}

/** Empty if there is no text, and for messages that no hook has passed. */
function excerptOf(item: TurnItem): string {
  if (item.type === 'user') return excerptIn(item.message.parts)
  return item.type === 'assistant' && !item.regeneration && !item.withheld ? excerptIn(item.parts) : ''
}

function excerptIn(parts: readonly { readonly type: string; readonly text?: string }[]): string {
  for (const { type, text = '' } of parts.slice(0, 20)) {
    if (type !== 'text') continue
    const line = text
      .slice(0, 4 * excerptCharacters)
      .replaceAll(/\s+/g, ' ')
      .trim()
    if (line !== '') return line.slice(0, excerptCharacters).toWellFormed()
  }
  return ''
}

/** Whether a list would show both states the same way. */
export function saysTheSame(left: Standing, right: Standing): boolean {
  if (left.state !== right.state || left.scopeMissing !== right.scopeMissing) return false
  return JSON.stringify(left.pending) === JSON.stringify(right.pending)
}

/** The status that a list shows for a phase. */
export function statusOf(phase: ConversationPhase): ConversationStatus {
  if (phase === 'idle') return 'idle'
  return phase === 'awaiting_input' ? 'suspended' : 'active'
}

export function phaseOf(state: ConversationState): ConversationPhase {
  const turn = openTurn(state)
  return phaseOfTurn(turn, tallyOf(turn?.calls ?? []))
}

/** How many calls of a turn are open, and how many of those wait for an answer. */
export type CallTally = { readonly open: number; readonly pending: number }

export function tallyOf(calls: readonly CallState[]): CallTally {
  let open = 0
  let pending = 0
  for (const call of calls) {
    const tally = tallyOfCall(call)
    open += tally.open
    pending += tally.pending
  }
  return { open, pending }
}

export function tallyOfCall(call: CallState): CallTally {
  // Most calls have a result, and no part of it matters here.
  if (call.result) return noneOpen
  const { type } = callPhase(call)
  if (type === 'ended') return noneOpen
  return type === 'pending' ? onePending : oneOpen
}

export const noneOpen: CallTally = { open: 0, pending: 0 }
const oneOpen: CallTally = { open: 1, pending: 0 }
const onePending: CallTally = { open: 1, pending: 1 }

/** The phase for the open turn; `turn` is null where there is none. `awaiting_input` only when nothing runs or can run. */
export function phaseOfTurn(turn: TurnState | null, { open, pending }: CallTally): ConversationPhase {
  if (!turn) return 'idle'
  if (turn.cancel) return 'terminating'
  return open > 0 && open === pending ? 'awaiting_input' : 'running'
}

function pendingCallIds(state: ConversationState): string[] {
  const calls = openTurn(state)?.calls ?? []
  return calls.filter((call) => tallyOfCall(call).pending > 0).map((call) => call.callId)
}
