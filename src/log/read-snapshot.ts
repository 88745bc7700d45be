import { errorText } from '../base/redact/redactor.ts'
import { encode } from './codec.ts'
import { type Check, json, list, nullable, object, oneOf, problemWith, text, union, whole } from './field-check.ts'
import { type Snapshot, type SnapshotCall, type SnapshotMessage, snapshotVersion } from './snapshot.ts'

/** Reads a snapshot that an application gives back and migrates it to this version, or says why it cannot be used. Nothing in it is trusted. */
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
  const problem = problemWith(check, migrated.value, 'snapshot')
  return problem === null ? { ok: true, snapshot: migrated.value as Snapshot } : { ok: false, problem }
}

const call = object<SnapshotCall>({
  type: text,
  callId: text,
  name: text,
  args: json,
  status: oneOf('ok', 'error', 'pending', 'open'),
  result: json,
})

const part = union('type', {
  text: object({ text }),
  file: object({ mediaType: text, filename: nullable(text) }),
  call,
})

const message = object<SnapshotMessage>({ role: oneOf('user', 'assistant'), at: whole(0), parts: list(part) })

const check: Check = object<Snapshot>({
  version: whole(snapshotVersion),
  seq: whole(0),
  state: oneOf('idle', 'running', 'awaiting_input', 'terminating'),
  title: nullable(text),
  summary: nullable(text),
  messages: list(message),
})

type Loose = { readonly [key: string]: unknown }

/** One step for each older version. Must accept anything with that version, however broken; the result is checked afterwards. */
const steps: { readonly [from: number]: (snapshot: Loose) => Loose } = { 1: toVersion2 }

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
