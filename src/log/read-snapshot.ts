import { errorText } from '../base/redact/error-text.ts'
import { encode } from './codec.ts'
import { type Check, json, list, nullable, object, oneOf, problemWith, text, union, whole } from './field-check.ts'
import { migrateSnapshot } from './migrate-snapshot.ts'
import { type Snapshot, type SnapshotCall, type SnapshotMessage, snapshotVersion } from './snapshot.ts'

/** What somebody gives back as a snapshot, brought to this version; or why it cannot be used. It is believed nothing. */
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
