import { errorText } from '../base/redact/redactor.ts'
import { isBlobRef } from './blob-ref.ts'
import { encode } from './codec.ts'
import {
  type Check,
  id,
  json,
  list,
  nullable,
  object,
  oneOf,
  optional,
  problemWith,
  simple,
  text,
  union,
  whole,
} from './field-check.ts'
import {
  type Snapshot,
  type SnapshotCall,
  type SnapshotFile,
  type SnapshotMessage,
  type SnapshotPending,
  type SnapshotTurn,
  snapshotVersion,
} from './snapshot.ts'

/** Reads a snapshot that an application returns and migrates it to this version, or says why it cannot be used. Nothing in it is trusted. */
export function readSnapshot(
  value: unknown,
): { readonly ok: true; readonly snapshot: Snapshot } | { readonly ok: false; readonly problem: string } {
  try {
    encode(value, 'snapshot')
  } catch (error) {
    return { ok: false, problem: errorText(error) }
  }
  const migrated = migrateSnapshot(value)
  if (!migrated.ok) return migrated
  const problem = problemWith(check, migrated.value, 'snapshot') ?? problemWithTurns(migrated.value as Snapshot)
  return problem === null ? { ok: true, snapshot: migrated.value as Snapshot } : { ok: false, problem }
}

/** Each message must be of one listed turn: were a turn listed twice, its messages would count twice. */
function problemWithTurns({ turns, messages }: Snapshot): string | null {
  const names = new Set(turns.map(({ turnId }) => turnId))
  if (names.size < turns.length) return "'snapshot.turns' must not name a turn twice"
  const stray = messages.findIndex(({ turnId }) => !names.has(turnId))
  return stray < 0 ? null : `'snapshot.messages[${stray}].turnId' must name one of 'snapshot.turns'`
}

/** How much of a snapshot is restored: parts of messages, and characters of everything but files. One that was taken here is smaller. */
const mostParts = 10_000
const mostCharacters = 6 * 1024 * 1024
const longestSummary = 48_000

/** The newest turns of a snapshot that are not too much to restore. */
export function fittingSnapshot(snapshot: Snapshot): Snapshot {
  const sizes = new Map<string, { parts: number; characters: number }>()
  for (const { turnId, parts, object = null, data = null } of snapshot.messages) {
    const size = sizes.get(turnId) ?? { parts: 0, characters: 0 }
    size.parts += 1 + parts.length
    size.characters += JSON.stringify(object).length + JSON.stringify(data).length
    for (const part of parts) size.characters += part.type === 'file' ? 200 : JSON.stringify(part).length
    sizes.set(turnId, size)
  }
  for (const { turnId, replaced = [] } of snapshot.turns) {
    const size = sizes.get(turnId)
    if (!size || replaced.length === 0) continue
    size.parts += 1 + replaced.length
    size.characters += JSON.stringify(replaced).length
  }
  let [parts, characters] = [mostParts, mostCharacters]
  const first = snapshot.turns.findLastIndex(({ turnId }) => {
    const size = sizes.get(turnId) ?? { parts: 1, characters: 0 }
    parts -= size.parts
    characters -= size.characters
    return parts < 0 || characters < 0
  })
  const turns = snapshot.turns.slice(first + 1)
  const kept = new Set(turns.map(({ turnId }) => turnId))
  const messages = first < 0 ? snapshot.messages : snapshot.messages.filter(({ turnId }) => kept.has(turnId))
  return { ...snapshot, summary: snapshot.summary?.slice(0, longestSummary) ?? null, turns, messages }
}

const ifInterrupted = oneOf('report', 'rerun', 'ask')

const pending = object<SnapshotPending>({
  kind: oneOf('approval', 'elicitation', 'client_exec', 'recovery'),
  prompt: json,
  expiresAt: nullable(whole(0)),
  ifInterrupted,
  timeoutMs: nullable(whole(1)),
  expiresInMs: nullable(whole(1)),
  schema: optional(json),
})

const call = object<SnapshotCall>({
  type: text,
  callId: id,
  name: text,
  args: json,
  executor: oneOf('server', 'human', 'client', 'provider', 'agent'),
  status: oneOf('ok', 'error', 'pending', 'open'),
  result: json,
  outcome: optional(oneOf('unknown', 'ran')),
  userFacing: optional(oneOf(true)),
  started: optional(nullable(ifInterrupted)),
  halts: optional(text),
  pending: optional(pending),
})

const file = object<SnapshotFile>({
  type: text,
  mediaType: id,
  filename: nullable(text),
  blob: optional(simple(isBlobRef, 'be a blob ref')),
  data: optional(text),
  url: optional(text),
})

const part = union('type', { text: object({ text }), file, call })

const turn = object<SnapshotTurn>({
  turnId: id,
  status: oneOf('completed', 'cancelled', 'failed', 'halted', 'open', 'queued'),
  reason: nullable(text),
  options: optional(object({})),
  replaced: optional(list(call)),
})

const message = object<SnapshotMessage>({
  role: oneOf('user', 'assistant'),
  turnId: id,
  at: whole(0),
  parts: list(part),
  cutOff: optional(oneOf('cancelled', 'failed')),
  finishReason: optional(text),
  object: optional(json),
  data: optional(json),
  withheld: optional(id),
})

const check: Check = object<Snapshot>({
  version: whole(snapshotVersion),
  seq: whole(0),
  phase: oneOf('idle', 'running', 'awaiting_input', 'terminating'),
  title: nullable(text),
  owner: optional(nullable(id)),
  summary: nullable(text),
  turns: list(turn),
  messages: list(message),
  data: optional(object({})),
})

type Loose = { readonly [key: string]: unknown }

/** One step for each older version. Must accept anything with that version, however broken; the result is checked afterwards. */
const steps: { readonly [from: number]: (snapshot: Loose) => Loose } = {
  1: toVersion2,
  2: toVersion3,
}

/** Migrates a snapshot from an older version to this one. A snapshot without a version is of the first. */
function migrateSnapshot(
  value: unknown,
): { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { ok: false, problem: "'snapshot' must be an object" }
  }
  let snapshot = value as Loose
  let version = snapshot['version'] ?? 1
  if (typeof version !== 'number' || !Number.isSafeInteger(version) || version < 1) {
    return { ok: false, problem: `'snapshot.version' is ${String(version)}, which no version ever was` }
  }
  if (version > snapshotVersion) {
    return {
      ok: false,
      problem: `its version is ${version}, and the newest that this Perdure reads is ${snapshotVersion}`,
    }
  }
  for (; version < snapshotVersion; version++) snapshot = { ...steps[version]!(snapshot), version: version + 1 }
  return { ok: true, value: snapshot }
}

/** Version 1 had only the text of messages: neither their origin nor the status of the conversation. */
function toVersion2({ title = null, messages }: Loose): Loose {
  return {
    seq: 0,
    state: 'idle',
    title,
    summary: null,
    messages: Array.isArray(messages) ? messages.map(messageToVersion2) : messages,
  }
}

function messageToVersion2(message: unknown): unknown {
  if (typeof message !== 'object' || message === null) return message
  const { role, content } = message as Loose
  return { role, at: 0, parts: [{ type: 'text', text: content }] }
}

/** Version 2 had no turns, and no bytes of files. Each message of a person begins a turn; calls that had not ended cannot be answered. */
function toVersion3({ messages, state: phase, ...others }: Loose): Loose {
  const snapshot = { ...others, phase }
  if (!Array.isArray(messages)) return { ...snapshot, turns: [], messages }
  const turns: Loose[] = []
  const migrated = messages.map((message: unknown) => {
    if (typeof message !== 'object' || message === null) return message
    if (turns.length === 0 || (message as Loose)['role'] === 'user') {
      turns.push({ turnId: `turn-${turns.length + 1}`, status: 'completed', reason: null })
    }
    const { parts } = message as Loose
    const { turnId } = turns.at(-1)!
    return { ...message, turnId, parts: Array.isArray(parts) ? parts.map(partToVersion3) : parts }
  })
  return { ...snapshot, turns, messages: migrated }
}

function partToVersion3(part: unknown): unknown {
  if (typeof part !== 'object' || part === null || (part as Loose)['type'] !== 'call') return part
  const { status } = part as Loose
  return { ...part, executor: 'server', status: status === 'pending' ? 'open' : status }
}
