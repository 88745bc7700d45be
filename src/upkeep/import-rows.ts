import { checkId, maxStoredEventBytes } from '../store/checks.ts'
import { callKinds, conversationStatuses } from '../store/records.ts'
import type { ConversationRow, RestoredConversation } from '../store/upkeep.ts'
import type { ImportLine } from './import-line.ts'

export function conversationIn(line: ImportLine): RestoredConversation {
  const agent = line.stringOrNull('agent')
  const childOf = line.stringOrNull('childOf')
  return {
    id: idIn(line, 'id'),
    kind: line.oneOf('kind', ['conversation', 'flow']),
    agent: agent === null ? null : idIn(line, 'agent'),
    owner: line.has('owner') && line.stringOrNull('owner') !== null ? idIn(line, 'owner') : null,
    status: line.oneOf('status', conversationStatuses),
    settings: line.json('settings'),
    fsmState: line.jsonOrNull('fsmState'),
    title: line.jsonOrNull('title'),
    parent: line.jsonOrNull('parent'),
    createdAt: line.whole('createdAt'),
    updatedAt: line.whole('updatedAt'),
    childOf: childOf === null ? null : idIn(line, 'childOf'),
    wakeAt: line.wholeOrNull('wakeAt'),
    isDormant: line.boolean('isDormant'),
  }
}

/** Null when the line is not a row of a conversation. */
export function rowIn(line: ImportLine, conversationId: string): ConversationRow | null {
  const type = line.type
  switch (type) {
    case 'event':
      return {
        type,
        row: {
          seq: line.whole('seq', 1),
          at: line.whole('at'),
          type: idIn(line, 'type'),
          content: eventContentIn(line),
        },
      }
    case 'call':
      return { type, row: callIn(line, conversationId) }
    case 'summary':
      return {
        type,
        row: {
          fromSeq: line.whole('fromSeq'),
          toSeq: line.whole('toSeq'),
          version: line.whole('version'),
          content: line.json('content'),
          base: line.jsonOrNull('base'),
        },
      }
    case 'key':
      return { type, row: { key: idIn(line, 'key'), seq: line.whole('seq'), digest: line.stringOrNull('digest') } }
    case 'model_call':
      return {
        type,
        row: {
          turnRef: idIn(line, 'turnRef'),
          at: line.whole('at'),
          latencyMs: line.wholeOrNull('latencyMs'),
          summaryVersion: line.wholeOrNull('summaryVersion'),
          status: line.json('status'),
          model: line.jsonOrNull('model'),
          usage: line.jsonOrNull('usage'),
          evictions: line.jsonOrNull('evictions'),
          renderedContext: line.jsonOrNull('renderedContext'),
          meta: line.jsonOrNull('meta'),
        },
      }
    case 'blob_ref':
      return { type, row: { hash: hashIn(line), firstSeq: line.whole('firstSeq') } }
    default:
      return null
  }
}

/** Readers that page through a log rely on this limit. */
function eventContentIn(line: ImportLine): string {
  const content = line.json('content')
  if (Buffer.byteLength(content) > maxStoredEventBytes) throw line.invalid("'content' is larger than an event may be")
  return content
}

function callIn(line: ImportLine, conversationId: string): Extract<ConversationRow, { type: 'call' }>['row'] {
  const kind = line.oneOf('kind', callKinds)
  const expiresAt = line.wholeOrNull('expiresAt')
  if (kind === 'flow' && expiresAt !== null) throw line.invalid('a question of a session has no deadline')
  return {
    id: idIn(line, 'id'),
    conversationId,
    executor: line.oneOf('executor', ['server', 'human', 'client', 'provider', 'agent']),
    status: line.oneOf('status', ['pending', 'resolved', 'errored', 'denied', 'expired', 'cancelled']),
    round: line.whole('round', 1),
    kind,
    expiresAt,
    createdAt: line.whole('createdAt'),
    resolvedAt: line.wholeOrNull('resolvedAt'),
    resolvedSeq: line.wholeOrNull('resolvedSeq'),
    name: line.json('name'),
    args: line.json('args'),
    result: line.jsonOrNull('result'),
    prompt: line.jsonOrNull('prompt'),
    notice: line.jsonOrNull('notice'),
    meta: line.jsonOrNull('meta'),
  }
}

export function idIn(line: ImportLine, name: string): string {
  const value = line.string(name)
  try {
    checkId(name, value)
    return value
  } catch {
    throw line.invalid(`'${name}' is not an id`)
  }
}

export function hashIn(line: ImportLine): string {
  const hash = line.string('hash')
  if (!/^[0-9a-f]{64}$/.test(hash)) throw line.invalid("'hash' is not a SHA-256")
  return hash
}
