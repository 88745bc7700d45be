import { expectTypeOf, test } from 'vitest'
import type { Json } from '../base/json.ts'
import type { Conversation } from '../runtime/conversation.ts'
import type { FlowSession } from '../runtime/flow-session.ts'
import type { InboxItem } from '../runtime/read/lists.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { RemoteConversation } from './conversation.ts'
import type { Client } from './create-client.ts'
import type { RemoteFlow } from './flow.ts'

type Result<Verbs, Name extends keyof Verbs> = Verbs[Name] extends (...args: never[]) => infer Returned
  ? Returned
  : never
type Results<Verbs, Names extends keyof Verbs> = { [Name in Names]: Result<Verbs, Name> }

type OfConversation =
  | 'approve'
  | 'deny'
  | 'answer'
  | 'extendDeadline'
  | 'note'
  | 'rename'
  | 'view'
  | 'history'
  | 'events'
  | 'continue'
  | 'delete'

test('a verb of a conversation resolves with the same in the client as in the runtime', () => {
  expectTypeOf<Results<RemoteConversation, OfConversation>>().toEqualTypeOf<Results<Conversation, OfConversation>>()
  type Turn = Pick<Awaited<ReturnType<Conversation['send']>>, 'turnId'>
  expectTypeOf<Awaited<ReturnType<RemoteConversation['send']>>>().toEqualTypeOf<Turn>()
  expectTypeOf<Awaited<ReturnType<RemoteConversation['retry']>>>().toEqualTypeOf<Turn>()
  expectTypeOf<Result<Conversation, 'outcome'>>().toExtend<Result<RemoteConversation, 'outcome'>>()
  expectTypeOf<Result<Conversation, 'cancel'>>().toExtend<Result<RemoteConversation, 'cancel'>>()
})

test('a verb of a session resolves with the same in the client as in the runtime', () => {
  type Session = FlowSession<Json, Json>
  expectTypeOf<Results<RemoteFlow, 'outcome' | 'delete' | 'events'>>().toEqualTypeOf<
    Results<Session, 'outcome' | 'delete' | 'events'>
  >()
  expectTypeOf<Result<Session, 'start' | 'resume' | 'continue'>>().toExtend<
    Result<RemoteFlow, 'start' | 'resume' | 'continue'>
  >()
})

test('lists have the same items, with the place of the next page beside them', () => {
  expectTypeOf<Awaited<ReturnType<Client['inbox']>>['items']>().toEqualTypeOf<InboxItem[]>()
  type Shared = 'resolve' | 'flows' | 'subscribers' | 'failedDeliveries' | 'retryDeliveries' | 'removeSubscriber'
  expectTypeOf<Results<Client, Shared>>().toEqualTypeOf<Results<Runtime, Shared>>()
})
