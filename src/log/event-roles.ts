import type { EventType } from './events.ts'

/** Events after which a worker with the agent's code must look at the conversation. */
export const wakingTypes: ReadonlySet<string> = new Set<EventType>([
  'user_msg',
  'resolution',
  'cancel_requested',
  'flow_started',
])

/** Events that may begin a conversation. */
export const creatingTypes: ReadonlySet<string> = new Set<EventType>(['user_msg', 'seeded', 'flow_started'])

/** Events that need no lease: they ask, answer, name or note, and the owner decides what follows. All other events record what the owner did. */
const openTypes: ReadonlySet<string> = new Set<EventType>([
  'user_msg',
  'resolution',
  'deadline_moved',
  'cancel_requested',
  'superseded',
  'titled',
  'note',
  'seeded',
  'flow_started',
  'flow_outcome',
])

/** What a tool sets belongs to its result, which only the owner writes. */
export function isOwnersEvent({ type, content }: { readonly type: string; readonly content: object }): boolean {
  if (type === 'state_set') return 'callId' in content && content.callId !== undefined
  return !openTypes.has(type)
}
