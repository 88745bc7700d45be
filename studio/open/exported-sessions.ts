import type { RemoteFlowStatus, RemoteSession } from 'perdure/client'
import { sessionStory } from '../flows/session-steps.ts'
import type { ExportedConversation, ExportedTenant } from './read-export.ts'

const statuses: Readonly<Record<string, RemoteSession['status']>> = {
  active: 'running',
  waiting: 'waiting',
  sleeping: 'sleeping',
  idle: 'dormant',
  done: 'done',
  failed: 'failed',
}

/** The sessions of a file, newest first. */
export function sessionsOf({
  conversations,
}: ExportedTenant): (RemoteSession & { readonly log: ExportedConversation })[] {
  return [...conversations.values()]
    .filter(({ record }) => record.kind === 'flow')
    .map((log) => ({ ...rowOf(log), log }))
    .sort((one, other) => other.updatedAt - one.updatedAt || (one.id < other.id ? 1 : -1))
}

function rowOf(log: ExportedConversation): RemoteSession {
  const { id, owner, title, parent, lastSeq, createdAt, updatedAt, status } = log.record
  return {
    id,
    owner,
    title,
    parent,
    lastSeq,
    createdAt,
    updatedAt,
    flow: flowOf(log),
    status: statuses[status] ?? 'dormant',
    waiting: questionsOf(log).length,
  }
}

/** How a session stands at the end of its log. */
export function sessionStatus(log: ExportedConversation): RemoteFlowStatus {
  const { ended } = sessionStory(log.events)
  const suspensions = questionsOf(log)
  const { id, status } = rowOf(log)
  return {
    id,
    status,
    suspensions,
    wakeAt: null,
    pending: suspensions[0]?.tag ?? null,
    result: ended?.status === 'done' ? ended.result : null,
  }
}

function questionsOf({ events }: ExportedConversation): RemoteFlowStatus['suspensions'] {
  return sessionStory(events).steps.flatMap(({ op, seq, startedAt, endedAt }) => {
    if (endedAt !== null) return []
    if (op.kind === 'suspend') return [{ seq, tag: op.tag, schema: op.schema ?? null, at: startedAt }]
    if (op.kind !== 'request') return []
    return [{ seq, tag: { type: 'request', kind: op.request, payload: op.payload }, schema: null, at: startedAt }]
  })
}

function flowOf({ events: [first], record }: ExportedConversation): string {
  return first?.type === 'flow_started' ? first.content.flow : (record.agent ?? '')
}
