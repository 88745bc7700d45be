import { type Clock, withTimeout } from '../base/clock.ts'
import { SnapshotLoadError } from '../base/errors/runtime-errors.ts'
import type { Json } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import type { Scope, ScopeSource } from '../define/scope.ts'
import { decode, encode } from '../log/codec.ts'
import { phaseOf } from '../log/fsm-state.ts'
import { readSnapshot } from '../log/read-snapshot.ts'
import {
  type Snapshot,
  type SnapshotCall,
  type SnapshotMessage,
  type SnapshotPart,
  snapshotVersion,
} from '../log/snapshot.ts'
import { type ConversationState, findTurn, openTurn, type TurnState } from '../log/state.ts'
import { summaryText } from '../prompt/assemble-prompt.ts'
import type { WorkingSet } from '../store/working-sets.ts'
import type { ViewCall, ViewMessage, ViewPart } from '../view/view.ts'
import { viewOf } from '../view/view-of.ts'
import type { Lifecycle, LoadContext, Persistence } from './persistence.ts'

type Parts = { readonly clock: Clock; readonly logger: Logger; readonly timeoutMs: number }

/** The conversation and turn that a snapshot is taken of. */
export type Subject = {
  readonly agentId: string
  readonly conversationId: string
  readonly workingSet: Pick<WorkingSet, 'state' | 'origin'>
  readonly scopes: ScopeSource
  /** The turn it is about. Default: the open turn, else the last one. */
  readonly turnId?: string
}

/** Passes snapshots to the application and loads them again. The application's code gets a time limit, and its result changes no decision of the turn. */
export class Snapshots {
  readonly #persistence: Persistence
  readonly #parts: Parts

  constructor(persistence: Persistence, parts: Parts) {
    this.#persistence = persistence
    this.#parts = parts
  }

  /** Never rejects, and never takes longer than its timeout. */
  async persist(lifecycle: Lifecycle, subject: Subject): Promise<void> {
    const { agentId, conversationId, workingSet } = subject
    // Deleted meanwhile: a snapshot must not bring it back.
    if (workingSet.state.lastSeq === 0) return
    try {
      const failure = await this.#within(this.#persisted(lifecycle, subject))
      if (failure !== null) throw failure
    } catch (error) {
      this.#parts.logger.warn('a snapshot was not persisted', { agentId, conversationId, lifecycle, error })
    }
  }

  /** The seed for the log of a new conversation; null when the log starts empty. Rejects when the application does not answer. */
  async load(scope: Scope | null, context: LoadContext): Promise<Json> {
    let loaded: unknown
    try {
      loaded = await this.#within(Promise.resolve(this.#persistence.loadState(scope, context)))
      const failure = failureIn(loaded, 'loadState')
      if (failure !== null) throw failure
    } catch (error) {
      throw new SnapshotLoadError(context.conversationId ?? context.agentId, error)
    }
    if (loaded === null || loaded === undefined) return null
    const read = readSnapshot(loaded)
    if (read.ok) return seedFrom(read.snapshot)
    this.#parts.logger.warn('a snapshot cannot be used; the conversation begins without it', {
      ...context,
      problem: read.problem,
    })
    return null
  }

  async #persisted(lifecycle: Lifecycle, subject: Subject): Promise<unknown> {
    const { agentId, conversationId, workingSet, scopes, turnId } = subject
    const context = { agentId, conversationId, lifecycle }
    const turn = actingTurn(workingSet.state, turnId)
    const scope = turn ? await scopes.ofTurn(turn) : await scopes.ofSystem()
    return failureIn(await this.#persistence.persistState(scope, takeSnapshot(workingSet), context), 'persistState')
  }

  #within<T>(work: Promise<T>): Promise<T> {
    const { clock, timeoutMs } = this.#parts
    return withTimeout(work, timeoutMs, clock, () => {
      throw new Error(`it took longer than ${timeoutMs} ms`)
    })
  }
}

/** An error that the application returned instead of throwing it, as an `Error` or as `{ ok: false, error }`. */
function failureIn(result: unknown, verb: string): unknown {
  if (result instanceof Error) return result
  const { ok, error } = Object(result) as { ok?: unknown; error?: unknown }
  return ok === false ? (error ?? new Error(`${verb} reported a failure`)) : null
}

function actingTurn(state: ConversationState, turnId: string | undefined): TurnState | null {
  if (turnId !== undefined) return findTurn(state, turnId)
  return openTurn(state) ?? state.turns.findLast((turn) => turn.opened) ?? null
}

/** Takes a snapshot. It is a copy, so the application may change it. */
export function takeSnapshot({ state, origin }: Pick<WorkingSet, 'state' | 'origin'>): Snapshot {
  const seed = origin.summary ? null : seedOf(state)
  const snapshot: Snapshot = {
    version: snapshotVersion,
    seq: state.lastSeq,
    state: phaseOf(state),
    title: state.title,
    summary: summaryText(origin.summary)?.text || (seed?.summary ?? null),
    messages: [...(seed?.messages ?? []), ...viewOf('', state).messages.map(messageOf)],
  }
  return decode(encode(snapshot)) as unknown as Snapshot
}

/** The seed belongs to the conversation until a summary replaces it. */
function seedOf({ seed }: ConversationState): Snapshot | null {
  const read = seed === null ? null : readSnapshot(seed)
  return read?.ok ? read.snapshot : null
}

function messageOf({ role, at, parts }: ViewMessage): SnapshotMessage {
  return { role, at, parts: (parts as readonly ViewPart[]).flatMap(partOf) }
}

/** Leaves out reasoning, sources and calls that the provider ran. */
function partOf(part: ViewPart): SnapshotPart[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }]
    case 'file':
      return [{ type: 'file', mediaType: part.mediaType, filename: part.filename ?? null }]
    case 'call':
      return [callOf(part)]
    default:
      return []
  }
}

function callOf({ callId, name, args, phase, end }: ViewCall): SnapshotCall {
  const call = { type: 'call' as const, callId, name, args }
  if (!end) return { ...call, status: phase === 'pending' ? 'pending' : 'open', result: null }
  return end.ok ? { ...call, status: 'ok', result: end.result } : { ...call, status: 'error', result: end.error }
}

/** Characters of a snapshot that are used as a seed: it is in every prompt until the first summary. */
const mostCharacters = 48_000

/** What a log is seeded with: the newest messages that fit, unchanged. Calls that were open have no end here. */
export function seedFrom(snapshot: Snapshot): Json {
  const { version, seq, title, summary } = snapshot
  const kept: SnapshotMessage[] = []
  let room = mostCharacters - (summary?.length ?? 0)
  for (const message of snapshot.messages.toReversed()) {
    room -= JSON.stringify(message.parts).length
    if (room < 0) break
    kept.unshift(message)
  }
  const seed: Snapshot = {
    ...{ version, seq, title, state: 'idle' },
    summary: summary === null ? null : summary.slice(0, mostCharacters),
    messages: kept,
  }
  return seed as unknown as Json
}
