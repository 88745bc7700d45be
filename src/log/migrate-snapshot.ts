import { snapshotVersion } from './snapshot.ts'

type Loose = { readonly [key: string]: unknown }

/** One step for each older version. Must take whatever has that version, however broken; what comes out is checked afterwards. */
const steps: { readonly [from: number]: (snapshot: Loose) => Loose } = { 1: toVersion2 }

/** Brings a snapshot of an older version to this one. One without a version is of the first. */
export function migrateSnapshot(
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
    return { ok: false, problem: `it is of version ${version}, and this is version ${snapshotVersion}` }
  }
  for (; version < snapshotVersion; version++) snapshot = { ...steps[version]!(snapshot), version: version + 1 }
  return { ok: true, value: snapshot }
}

/** The first version had the text of messages only, and said neither where they came from nor how the conversation stood. */
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
