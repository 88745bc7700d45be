import { createHash } from 'node:crypto'
import type { SubscriberEvent, SubscriberTopic, WaitingCall } from '../../define/define-subscriber.ts'
import { deepFreeze } from '../../define/turn.ts'
import type { EventOf, EventType, LogEvent } from '../../log/events.ts'
import { flowCallId, isQuestion } from '../../log/flow-questions.ts'
import type { Delivery } from '../../store/outbox.ts'
import type { CallNotice } from '../../store/records.ts'
import type { Store, TenantStore } from '../../store/store.ts'
import { hideWithheld } from '../../view/hidden.ts'
import { describedBy } from '../../view/view-of.ts'

/** The types of events that a commit records for these topics. Which of them are told is decided when they are read. */
export function typesOf(topics: readonly SubscriberTopic[]): EventType[] {
  return topics.flatMap((topic) => (topic === 'waiting' ? (['suspension', 'flow_opened'] as const) : [topic]))
}

/** What a delivery tells: `skip` where there is nothing to tell, `later` where this node does not have the topic. */
export type ToTell = SubscriberEvent | 'skip' | 'later'

/** Reads what a delivery tells of. The row has no content: the log has it, and no more of it is read than the event, the mark before it, and the one of a restored log. */
export async function subscriberEvent(
  store: Pick<Store, 'forTenant'>,
  { subscriber, tenant, conversationId, seq }: Delivery,
  topics: readonly SubscriberTopic[],
): Promise<ToTell> {
  const handle = store.forTenant(tenant)
  const read = await handle.streamEvents(conversationId, { after: Math.max(0, seq - 2), before: seq + 1 })
  const event = [...hideWithheld(read)].find((found) => found.seq === seq)
  // Deleted meanwhile.
  if (!event) return 'skip'
  const told = topicsOf(event)
  if (told.length === 0) return 'skip'
  if (told[0] !== 'waiting' && (await isRestored(handle, event))) return 'skip'
  const topic = told.find((candidate) => topics.includes(candidate))
  if (!topic) return typesOf(topics).includes(event.type) ? 'skip' : 'later'
  const record = await handle.getConversation(conversationId)
  if (!record) return 'skip'
  const call = topic === 'waiting' ? await waitingCall(handle, event) : null
  const { at } = event
  const { agent, title } = record
  const id = idOf([subscriber, tenant, conversationId, seq, at])
  const whole = { id, topic, tenant, conversationId, seq, at, agent, title, event, ...(call ? { call } : {}) }
  deepFreeze(whole)
  return whole
}

/** The topics that the event is told as, the narrower first. */
function topicsOf(event: LogEvent): SubscriberTopic[] {
  if (event.type === 'suspension') return event.content.kind === 'sub_agent' ? [] : ['waiting']
  if (event.type === 'flow_opened') return isQuestion(event.content.op) ? ['waiting', 'flow_opened'] : ['flow_opened']
  return [event.type]
}

/** What a snapshot restored happened in another log, and is not news. That a call of it waits is: it waits here, under a new id. */
async function isRestored(store: TenantStore, { conversationId, seq, content }: LogEvent): Promise<boolean> {
  if ('restoredAt' in content && content.restoredAt !== undefined) return true
  const [mark] = await store.streamEvents(conversationId, { after: 1, before: 3 })
  return mark?.type === 'restored' && seq <= mark.content.through
}

async function waitingCall(store: TenantStore, event: LogEvent): Promise<WaitingCall | null> {
  const asked =
    event.type === 'suspension'
      ? { callId: event.content.callId, round: event.content.round }
      : { callId: flowCallId(event.conversationId, event.seq), round: event.seq }
  const row = await store.getToolCall(asked.callId)
  if (!row) return null
  const { name: tool, args, prompt, notice, expiresAt, status, round, kind } = row
  const isOpen = status === 'pending' && round === asked.round
  const shown = event.type === 'suspension' ? event.content.prompt : prompt
  const ownKind = event.type === 'suspension' ? event.content.kind : kind
  return {
    ...{ ...asked, tool, args, isOpen, expiresAt: isOpen ? expiresAt : null },
    kind: ownKind as WaitingCall['kind'],
    prompt: shown,
    ...(event.type === 'suspension' ? noticeIn(event, notice) : {}),
  }
}

/** The row has the line of the whole call. What was done before is read from the event, because the row may be in a later round. */
function noticeIn({ content }: EventOf<'suspension'>, notice: CallNotice | null): CallNotice {
  const { prompt, doneBefore } = content
  const described = notice?.description === undefined ? describedBy(prompt) : { description: notice.description }
  return { ...described, ...(doneBefore ? { doneBefore } : {}) }
}

/** Stable over attempts and processes. With the time: a conversation that was deleted and begun anew has the same places. */
function idOf(place: readonly (string | number)[]): string {
  return `evt_${createHash('sha256').update(JSON.stringify(place)).digest('hex').slice(0, 40)}`
}
