/**
 * Leaves two refunds that were approved and have not run, a third whose deadline has passed, and a subscriber that has not been told of the approvals, as a
 * server leaves them that was stopped at the wrong moment.
 */
import { createRuntime } from 'perdure'
import { sqliteStore } from 'perdure/sqlite'
import { channel, support } from './lib/support.ts'

const store = sqliteStore({ path: process.env.PERDURE_DB ?? 'chats.db', expiry: false })
const asking = createRuntime({ agents: [support], store })
for (const id of ['due-1', 'due-2', 'late'])
  await (await asking.conversation(id, { agent: 'support' }).send('refund')).outcome()
await asking.close()
const answering = createRuntime({ agents: [support], store, subscribers: [channel], work: false })
// A message waits until the subscriber is registered.
await answering.conversation('hello', { agent: 'support' }).send('hello')
for (const call of await answering.inbox()) {
  if (call.conversationId === 'late') await answering.conversation('late').extendDeadline(call, { expiresInMs: 1 })
  else await answering.resolve(call.conversationId, call.callId, true)
}
await answering.close()
await store.close()
