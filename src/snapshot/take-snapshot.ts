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
import type { ConversationState } from '../log/state.ts'
import { summaryText } from '../prompt/context-memory.ts'
import type { WorkingSet } from '../store/working-sets.ts'
import type { ViewCall, ViewMessage, ViewPart } from '../view/view.ts'
import { viewOf } from '../view/view-of.ts'

/** A copy: whoever gets it may do with it what they like. */
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

/** What a conversation was seeded with is a part of it, until a summary stands for it. */
function seedOf({ seed }: ConversationState): Snapshot | null {
  const read = seed === null ? null : readSnapshot(seed)
  return read?.ok ? read.snapshot : null
}

function messageOf({ role, at, parts }: ViewMessage): SnapshotMessage {
  return { role, at, parts: (parts as readonly ViewPart[]).flatMap(partOf) }
}

/** Reasoning, sources and what the model's host did are left out. */
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
