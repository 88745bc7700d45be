import { effectiveArgs } from '../../log/call-phase.ts'
import type { NewEvent, Resolution, Suspension } from '../../log/events.ts'
import { type ConversationState, findCall } from '../../log/state.ts'
import type { Change, ResolveCall } from '../../store/change.ts'
import { tellsHowItWent } from '../../store/ended-call.ts'
import type { FinalStatus, ToolCallWrite } from '../../store/tool-call.ts'

/** The rows that go with events: a call row for each suspension, a guard for each resolution, the title. `after` is the state with them. */
export function changeFor(
  events: readonly NewEvent[],
  after: ConversationState,
): Pick<Change, 'events' | 'calls' | 'resolve' | 'conversation'> {
  const calls: ToolCallWrite[] = []
  const resolve: ResolveCall[] = []
  let conversation: Change['conversation']
  for (const event of events) {
    if (event.type === 'suspension') calls.push(callRow(event.content, after))
    if (event.type === 'resolution') resolve.push(resolveRow(event.content))
    if (event.type === 'titled') conversation = { title: event.content.title }
  }
  return {
    events,
    ...(calls.length > 0 ? { calls } : {}),
    ...(resolve.length > 0 ? { resolve } : {}),
    ...(conversation ? { conversation } : {}),
  }
}

export function resolveRow(resolution: Resolution): ResolveCall {
  const { callId, round, value } = resolution
  return { callId, round, status: rowStatus(resolution), result: value }
}

export function rowStatus({ kind, status, value }: Resolution): FinalStatus {
  const isError = typeof value === 'object' && value !== null && 'ok' in value && value.ok === false
  return status === 'resolved' && tellsHowItWent(kind) && isError ? 'errored' : status
}

function callRow({ callId, round, kind, prompt, expiresInMs }: Suspension, after: ConversationState): ToolCallWrite {
  const found = findCall(after, callId)
  if (!found) throw new Error(`suspension of '${callId}' without its call`)
  const { name, executor } = found.call
  return { id: callId, name, executor, args: effectiveArgs(found.call), round, kind, prompt, expiresInMs }
}
