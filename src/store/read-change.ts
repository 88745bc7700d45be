import { readMembers } from '../base/errors/read-given.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { NewEvent } from '../log/events.ts'
import type { Change, ResolveCall } from './change.ts'
import { readList } from './checks.ts'
import type { ConversationAttrs, Parent } from './conversation-record.ts'
import type { ToolCallWrite } from './tool-call.ts'

/**
 * A change as a caller gave it. Each member is read once, so that what is checked is what is written, whatever a getter would tell the next time. The
 * members of members are checked by whoever encodes them.
 */
export function readChange(given: Change): Change {
  const { events, calls, resolve, acquire, wakeAt, conversation, ...change } = membersOf('change', given, ofChange)
  return {
    ...change,
    events: readList('events', events!).map(readEvent),
    ...(calls ? { calls: readList('calls', calls).map((call) => membersOf('call', call, ofCall)) } : {}),
    ...(resolve ? { resolve: readList('resolve', resolve).map((item) => membersOf('resolve', item, ofResolve)) } : {}),
    ...(acquire ? { acquire: membersOf('acquire', acquire, ['holder', 'ttlMs', 'suspects']) } : {}),
    ...(wakeAt === undefined ? {} : { wakeAt: readWake(wakeAt) }),
    ...(conversation ? { conversation: readAttrs(conversation) } : {}),
  }
}

function readEvent(event: NewEvent): NewEvent {
  if (typeof event !== 'object' || event === null)
    throw new InvalidArgumentError('event', 'must be an object with type and content')
  return { type: event.type, content: event.content } as NewEvent
}

function readWake(wakeAt: NonNullable<Change['wakeAt']> | null): NonNullable<Change['wakeAt']> | null {
  return wakeAt === null || wakeAt === 'now' ? wakeAt : membersOf('wakeAt', wakeAt, ['inMs'])
}

function readAttrs(given: ConversationAttrs): ConversationAttrs {
  const { parent, ...attrs } = membersOf('conversation', given, ofConversation)
  return parent === undefined ? attrs : { ...attrs, parent: membersOf('parent', parent, ofParent) }
}

/** What a caller left out is missed by the checks, which know what has to be there. */
function membersOf<T extends object>(name: string, given: T, members: readonly (keyof T & string)[]): T {
  return readMembers(name, given ?? null, members) as T
}

const ofChange = namesOf<Change>({
  events: true,
  expectedSeq: true,
  expectedAt: true,
  expectedAgent: true,
  epoch: true,
  key: true,
  resendKey: true,
  digest: true,
  calls: true,
  resolve: true,
  fsmState: true,
  wakeAt: true,
  lease: true,
  acquire: true,
  conversation: true,
})

const ofCall = namesOf<ToolCallWrite>({
  id: true,
  name: true,
  executor: true,
  status: true,
  args: true,
  result: true,
  round: true,
  kind: true,
  prompt: true,
  expiresInMs: true,
})

const ofResolve = namesOf<ResolveCall>({ callId: true, round: true, status: true, result: true })

const ofConversation = namesOf<ConversationAttrs>({
  kind: true,
  agent: true,
  status: true,
  settings: true,
  fsmState: true,
  title: true,
  parent: true,
})

const ofParent = namesOf<Parent>({ id: true, at: true, callId: true })

/** The compiler asks for each of them. */
function namesOf<T>(names: Readonly<Record<keyof T & string, true>>): readonly (keyof T & string)[] {
  return Object.keys(names) as (keyof T & string)[]
}
