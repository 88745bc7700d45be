import type { Json } from '../base/json.ts'
import type { AppState } from './app-state.ts'
import type {
  AssistantMsg,
  CallResult,
  DeadlineMoved,
  HaltedBy,
  Injection,
  Note,
  Resolution,
  StateSet,
  Suspension,
  ToolCallContent,
  ToolResult,
  TurnOptions,
  TurnStatus,
  Usage,
  UserMessage,
  Withheld,
} from './events.ts'
import { callPosition } from './fold-call.ts'
import type { Replaced } from './superseded.ts'

/**
 * The state that a log folds to. Plain JSON, so that a trimmed copy can be stored as the `base` of a summary.
 * Must be treated as immutable: `foldEvents` shares everything that did not change.
 */
export type ConversationState = {
  readonly lastSeq: number
  readonly title: string | null
  readonly seed: Json
  /** In the order of their first messages, which is the order they open in. Ended turns stay, because prompts include them. */
  readonly turns: readonly TurnState[]
  /** The application's notes, oldest first; absent when there are none. The newest only, see `GrowingNotes`. */
  readonly notes?: readonly NoteItem[]
  /** Set when older notes were left out: the `seq` of the newest of them. */
  readonly notesLeftOut?: number
  /** The application's state, once it was set. */
  readonly appState?: AppState
  /** A mark whose message has not come yet. */
  readonly withheld?: Withheld
  /** What was withdrawn, until the turn in its place begins. */
  readonly withdrawn?: Replaced
  /** The log has messages before those here: a summary replaces them, or they were left out. */
  readonly hasOlder?: boolean
  /** Something was left out to keep the state small: it can be shown, but no prompt can be rendered from it. See `trimState`. */
  readonly isTrimmed?: boolean
}

/** A turn, folded from its events. */
export type TurnState = {
  readonly turnId: string
  readonly firstSeq: number
  readonly options: TurnOptions
  /** False while queued. A turn that ends unopened is never rendered. */
  readonly opened: boolean
  readonly items: readonly TurnItem[]
  readonly calls: readonly CallState[]
  readonly cancel: { readonly who: string; readonly seq: number } | null
  readonly end: { readonly status: TurnStatus; readonly reason: string | null; readonly seq: number } | null
  /** The tool call that ends the turn once the calls beside it have ended. */
  readonly halt?: HaltedBy
  /** Set if the turn replaced others. */
  readonly replaced?: Replaced
  /** Set when attempts at its messages broke off: how many another one followed, and the tokens they used. */
  readonly discarded?: { readonly attempts: number; readonly usage: Usage }
  /** Set while the turn waits for the scope of the user who opened it: whose, and since when. */
  readonly scopeMissing?: { readonly who: string; readonly seq: number; readonly at: number }
  /** Set when the first items are left out: the tokens they used, and how many of them were messages that were not regenerated. */
  readonly leftOut?: { readonly usage: Usage; readonly messages: number }
}

/** An item of a turn, in the order of the log. `leftOut`, here and below: how many bytes were cut, see `abridgeEvent`. */
export type TurnItem = UserItem | AssistantItem | InjectionItem

export type UserItem = {
  readonly type: 'user'
  readonly seq: number
  readonly at: number
  readonly message: UserMessage
  readonly who: string
  /** As in `user_msg`. */
  readonly data?: Json
  readonly restoredAt?: number
  readonly leftOut?: number
}

export type AssistantItem = Omit<AssistantMsg, 'turnId'> & {
  readonly type: 'assistant'
  readonly seq: number
  readonly at: number
  readonly regeneration: { readonly n: number; readonly feedback: string } | null
  /** The hook that did not pass the message. The log keeps the text; in a state, and so in everything derived from it, `parts` is empty. */
  readonly withheld?: { readonly hook: string }
  readonly leftOut?: number
}

export type InjectionItem = Omit<Injection, 'turnId'> & { readonly type: 'injection'; readonly seq: number }

/** A note, with its place in the log. */
export type NoteItem = Note & { readonly seq: number; readonly at: number; readonly leftOut?: number }

/** A call, folded from its events. */
export type CallState = Omit<ToolCallContent, 'turnId'> & {
  readonly seq: number
  readonly attempts: number
  /** `seq` of the latest `tool_started`; 0 before the first. */
  readonly startedSeq: number
  readonly rounds: readonly Round[]
  readonly result:
    | (CallResult & Pick<ToolResult, 'outcome' | 'userFacing'> & { readonly seq: number; readonly leftOut?: number })
    | null
  /** What the tool gets back with the answer to the round that comes next. */
  readonly asking?: { readonly round: number; readonly state: Json }
  /** What the call sets when its result comes. */
  readonly stateSet?: Pick<StateSet, 'patch' | 'exposed'>
  /** Why the state that the call set was refused. */
  readonly stateRefused?: string
  readonly leftOut?: number
}

/** One suspension of a call, and how it ended. */
export type Round = Omit<Suspension, 'callId'> & {
  readonly seq: number
  readonly at: number
  /** Set when the server tool asked: it is run again with the answer, and gets this back. */
  readonly toolState?: Json
  /** Set when the deadline was moved: when, and how long from then. See `deadlineOf`. */
  readonly moved?: Pick<DeadlineMoved, 'expiresInMs'> & { readonly at: number }
  readonly resolution:
    | (Omit<Resolution, 'callId' | 'round' | 'kind'> & {
        readonly seq: number
        readonly at: number
        readonly leftOut?: number
      })
    | null
  readonly leftOut?: number
}

export const emptyState: ConversationState = { lastSeq: 0, title: null, seed: null, turns: [] }

/** The title that a conversation takes over from its seed. */
export function seedTitle(seed: Json): string | null {
  const title = typeof seed === 'object' && seed !== null && 'title' in seed ? seed['title'] : null
  return typeof title === 'string' && title !== '' ? title : null
}

/** The turn being worked on: at most one. Asked for many times with each commit, so it makes nothing. */
export function openTurn({ turns }: Pick<ConversationState, 'turns'>): TurnState | null {
  for (let index = turns.length - 1; index >= 0; index--) {
    const turn = turns[index]!
    if (turn.opened) return turn.end ? null : turn
  }
  return null
}

export function queuedTurns(state: ConversationState): TurnState[] {
  return state.turns.filter((turn) => !turn.opened && !turn.end)
}

/** The newest turn with that id. */
export function findTurn(state: ConversationState, turnId: string): TurnState | null {
  return state.turns.findLast((turn) => turn.turnId === turnId) ?? null
}

export type FoundCall = { readonly turn: TurnState; readonly call: CallState; readonly position: number }

/** Looks in the newest turn that has the call. */
export function findCall({ turns }: Pick<ConversationState, 'turns'>, callId: string): FoundCall | null {
  for (let index = turns.length - 1; index >= 0; index--) {
    const turn = turns[index]!
    const position = callPosition(turn.calls, callId)
    if (position >= 0) return { turn, call: turn.calls[position]!, position }
  }
  return null
}

/** The turn's messages that were not regenerated: a regenerated one is not a step. */
export function keptMessages(turn: Pick<TurnState, 'items'>): AssistantItem[] {
  return turn.items.filter((item) => item.type === 'assistant' && !item.regeneration) as AssistantItem[]
}

/** The part of a state that a summary stores, so that revival does not read the log before it. */
export function baseOf(state: ConversationState): ConversationState {
  const { hasOlder: _, isTrimmed: __, notes: ___, notesLeftOut: ____, ...base } = state
  return { ...base, turns: state.turns.filter((turn) => !turn.end) }
}

/** The state without the turns that had ended by `toSeq`: the same as folding from a summary's base. */
export function stateSince(state: ConversationState, toSeq: number): ConversationState {
  const turns = state.turns.filter((turn) => !turn.end || turn.end.seq > toSeq)
  const kept = turns.length === state.turns.length ? state : { ...state, turns }
  return state.notes ? notesSince(kept, toSeq) : kept
}

/** The state without the notes up to `toSeq`. */
function notesSince({ notes = [], notesLeftOut, ...state }: ConversationState, toSeq: number): ConversationState {
  const kept = notes.filter(({ seq }) => seq > toSeq)
  const leftOut = notesLeftOut !== undefined && notesLeftOut > toSeq ? { notesLeftOut } : {}
  return { ...state, ...(kept.length > 0 ? { notes: kept } : {}), ...leftOut }
}

const counters = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens'] as const

type Tally = { -readonly [Counter in keyof Usage]: Usage[Counter] }

/** Adds to `total`, and returns it. */
export function addUsage(total: Tally, usage: Usage): Tally {
  for (const counter of counters) {
    const tokens = usage[counter]
    if (tokens !== undefined) total[counter] = (total[counter] ?? 0) + tokens
  }
  return total
}

/** The tokens a turn has used: its own messages, attempts at them that broke off, and the child agents that have ended. */
export function usageOf(turn: Pick<TurnState, 'items' | 'calls' | 'leftOut' | 'discarded'>): Usage {
  const { items, calls, leftOut, discarded } = turn
  const total: Tally = { ...leftOut?.usage }
  if (discarded) addUsage(total, discarded.usage)
  for (const item of items) if (item.type === 'assistant') addUsage(total, item.usage)
  for (const call of calls) {
    for (const round of call.rounds)
      if (round.kind === 'sub_agent') addUsage(total, usageIn(round.resolution?.value ?? null))
  }
  return total
}

export function tokensUsed(turn: TurnState): number {
  const { inputTokens = 0, outputTokens = 0 } = usageOf(turn)
  return inputTokens + outputTokens
}

/** A child's result says what it used. A call that ended any other way says nothing. */
function usageIn(value: Json): Usage {
  const usage = isObject(value) ? value['usage'] : null
  if (!isObject(usage)) return {}
  const counts = counters.filter((counter) => Number.isSafeInteger(usage[counter]) && (usage[counter] as number) >= 0)
  return Object.fromEntries(counts.map((counter) => [counter, usage[counter]])) as Usage
}

function isObject(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What the provider says of why a message ended. Null when the model was done: it stopped by itself, or to call a tool. */
export function earlyFinish(finishReason: string): string | null {
  return finishReason === 'stop' || finishReason === 'tool-calls' ? null : finishReason
}

/** How people read that an answer is incomplete; null for an answer that looks complete and is. */
export function cutShortText(finishReason: string): string | null {
  return cutShort.get(finishReason) ?? null
}

/** A text that is read alone, as by another model, says itself that it is incomplete. */
export function textWithEnd(text: string, finishReason: string | null): string {
  const early = finishReason === null ? null : cutShortText(finishReason)
  return early === null ? text : `${text}\n[This answer was ${early}.]`
}

const cutShort: ReadonlyMap<string, string> = new Map([
  ['length', 'cut off at its length limit'],
  ['content-filter', "cut off by the provider's content filter"],
])

/** The newest turn of each id, by its position. */
export class TurnIndex {
  #positions: Map<string, number> | null
  #hasLooked = false
  /** Whether the positions are what another index would find in these turns. */
  #isExact = true

  /** The index that a fold left for these turns, if it did: a log that is read page by page would else build one with each page. */
  constructor(turns: readonly TurnState[]) {
    this.#positions = kept.get(turns) ?? null
    // It grows with one fold only.
    kept.delete(turns)
  }

  /** Most new turns have a new id. Searching all turns for each one would make a long fold quadratic, so the second lookup builds the positions. */
  newest(turns: readonly TurnState[], turnId: string): TurnState | undefined {
    if (this.#hasLooked) this.#positions ??= new Map(turns.map((turn, position) => [turn.turnId, position]))
    this.#hasLooked = true
    if (this.#positions) return turns[this.#positions.get(turnId) ?? -1]
    return turns.findLast((turn) => turn.turnId === turnId)
  }

  add(turnId: string, position: number): void {
    this.#positions?.set(turnId, position)
  }

  /** An earlier turn with the id of one of these is not found any more. */
  remove(turns: readonly TurnState[]): void {
    for (const { turnId } of turns) this.#positions?.delete(turnId)
    this.#isExact = false
  }

  /** For the fold that continues from these turns. */
  keepFor(turns: readonly TurnState[]): void {
    if (this.#positions && this.#isExact && turns.length >= leastKept) kept.set(turns, this.#positions)
  }
}

const kept = new WeakMap<readonly TurnState[], Map<string, number>>()
const leastKept = 500
