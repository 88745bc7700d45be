import { weightOf } from '../log/abridge.ts'
import { callPhase, deadlineOf, effectiveArgs } from '../log/call-phase.ts'
import { decode, encode } from '../log/codec.ts'
import type { AssistantPart, FilePart } from '../log/events.ts'
import { callPosition } from '../log/fold-call.ts'
import { phaseOf } from '../log/fsm-state.ts'
import { readSnapshot } from '../log/read-snapshot.ts'
import {
  type Snapshot,
  type SnapshotCall,
  type SnapshotFile,
  type SnapshotMessage,
  type SnapshotPart,
  type SnapshotTurn,
  snapshotVersion,
} from '../log/snapshot.ts'
import { type CallState, type ConversationState, earlyFinish, type TurnState } from '../log/state.ts'
import { hasActed } from '../log/superseded.ts'
import { summaryText } from '../prompt/assemble-prompt.ts'
import { orderedItems } from '../prompt/render/render-turn.ts'
import type { WorkingSet } from '../store/working-sets.ts'

/** About how many bytes of messages a snapshot has. Files count apart. */
const mostSnapshotBytes = 4 * 1024 * 1024

type Told = { readonly turn: SnapshotTurn; readonly messages: readonly SnapshotMessage[] }

/** Takes a snapshot of the newest turns, without the bytes of files. It is a copy, so the application may change it. */
export function takeSnapshot({ state, origin }: Pick<WorkingSet, 'state' | 'origin'>): Snapshot {
  const seed = origin.summary ? null : seedOf(state)
  const told = fitting([...(seed ? toldBy(seed) : []), ...state.turns.filter(isShown).map(tell)], mostSnapshotBytes)
  const snapshot: Snapshot = {
    version: snapshotVersion,
    seq: state.lastSeq,
    phase: phaseOf(state),
    title: state.title,
    summary: summaryText(origin.summary)?.text || (seed?.summary ?? null),
    turns: told.map(({ turn }) => turn),
    messages: told.flatMap(({ messages }) => messages),
    ...(state.appState ? { data: state.appState.values } : {}),
  }
  return decode(encode(snapshot)) as unknown as Snapshot
}

/** The newest turns that fit, and at least one. */
function fitting(told: readonly Told[], mostBytes: number): Told[] {
  let room = mostBytes
  const kept: Told[] = []
  for (const one of uniquelyNamed(told).toReversed()) {
    room -= weightOf(one)
    if (room < 0 && kept.length > 0) break
    kept.unshift(one)
  }
  return kept
}

/** A log may have two turns with one id: the key of an ended one was used again, after the log was seeded. */
function uniquelyNamed(told: readonly Told[]): Told[] {
  const names = new Set<string>()
  return told.map(({ turn, messages }, index) => {
    const turnId = names.has(turn.turnId) ? `${turn.turnId}/${index + 1}` : turn.turnId
    names.add(turnId)
    return { turn: { ...turn, turnId }, messages: messages.map((message) => ({ ...message, turnId })) }
  })
}

/** The seed of a log that an earlier version began. It belongs to the conversation until a summary replaces it. */
function seedOf({ seed }: ConversationState): Snapshot | null {
  const read = seed === null ? null : readSnapshot(seed)
  return read?.ok ? read.snapshot : null
}

function toldBy({ turns, messages }: Snapshot): Told[] {
  const byTurn = Map.groupBy(messages, ({ turnId }) => turnId)
  return turns.map((turn) => ({ turn, messages: byTurn.get(turn.turnId) ?? [] }))
}

/** A turn that was cancelled in the queue was never begun. */
function isShown({ opened, end }: TurnState): boolean {
  return opened || !end
}

function tell(turn: TurnState): Told {
  const { turnId, options, opened, cancel, end } = turn
  // A turn that is being cancelled has nothing left to answer.
  const status = end?.status ?? (cancel ? 'cancelled' : opened ? 'open' : 'queued')
  const unended = end || cancel ? {} : { options }
  const messages = orderedItems(turn).flatMap((item): SnapshotMessage[] => {
    if (item.type === 'injection' || (item.type === 'assistant' && item.regeneration)) return []
    const { at } = item
    if (item.type === 'user') {
      const { message, data } = item
      return [{ role: 'user', turnId, at, parts: message.parts.map(ofUser), ...(data === undefined ? {} : { data }) }]
    }
    const { parts, status: how, object, withheld } = item
    const early = how === 'complete' ? earlyFinish(item.finishReason) : null
    return [
      {
        role: 'assistant',
        turnId,
        at,
        parts: parts.flatMap((part) => ofAssistant(part, turn)),
        ...(how === 'complete' ? {} : { cutOff: how }),
        ...(early === null ? {} : { finishReason: early }),
        ...(object === undefined ? {} : { object }),
        ...(withheld ? { withheld: withheld.hook } : {}),
      },
    ]
  })
  const calls = (turn.replaced?.calls ?? []).filter(({ executor }) => executor !== 'provider')
  const replaced = calls.length > 0 ? { replaced: calls.map((call) => ofCall(call, turn)) } : {}
  return { turn: { turnId, status, reason: end?.reason ?? null, ...unended, ...replaced }, messages }
}

/** Leaves out reasoning, sources and calls that the provider ran. */
function ofAssistant(part: AssistantPart, turn: TurnState): SnapshotPart[] {
  if (part.type === 'text' || part.type === 'file') return [ofUser(part)]
  const call = part.type === 'call' ? turn.calls[callPosition(turn.calls, part.callId)] : undefined
  return call ? [ofCall(call, turn)] : []
}

function ofUser(part: Extract<AssistantPart, { type: 'text' }> | FilePart): SnapshotPart {
  return part.type === 'text' ? { type: 'text', text: part.text } : ofFile(part)
}

function ofFile({ mediaType, filename, data }: FilePart): SnapshotFile {
  const file = { type: 'file' as const, mediaType, filename: filename ?? null }
  return typeof data === 'string' ? { ...file, url: data } : { ...file, blob: data }
}

function ofCall(call: CallState, turn: TurnState): SnapshotCall {
  const { callId, name, executor } = call
  const phase = callPhase(call)
  // What has not ended may be started after the snapshot is taken.
  const mayHaveActed = hasActed(call) || (phase.type !== 'ended' && executor !== 'human')
  const started = mayHaveActed ? call.ifInterrupted : null
  const told = { type: 'call' as const, callId, name, args: effectiveArgs(call), executor, started }
  if (phase.type === 'ended') {
    const { end } = phase
    const how = {
      ...(end.outcome ? { outcome: end.outcome } : {}),
      ...(end.userFacing ? { userFacing: end.userFacing } : {}),
      ...(turn.halt?.callId === callId && !turn.end ? { halts: turn.halt.reason } : {}),
    }
    return end.ok
      ? { ...told, status: 'ok', result: end.result, ...how }
      : { ...told, status: 'error', result: end.error, ...how }
  }
  const round = phase.type === 'pending' ? phase.round : null
  // What a tool keeps for its question stays in the log it was asked in.
  if (!round || round.kind === 'sub_agent' || round.toolState !== undefined || turn.end || turn.cancel) {
    return { ...told, status: 'open', result: null }
  }
  const { kind, prompt } = round
  const { ifInterrupted, timeoutMs, expiresInMs, schema } = call
  const pending = {
    kind,
    prompt,
    expiresAt: deadlineOf(round),
    ifInterrupted,
    timeoutMs,
    expiresInMs,
    ...(schema === undefined ? {} : { schema }),
  }
  return { ...told, status: 'pending', result: null, pending }
}
