/**
 * One server, many customers. A token alone identifies the sender of a request; the tenant of that identity is part of
 * every key in the store; and data of another tenant looks exactly like data that does not exist.
 */
import assert from 'node:assert/strict'
import { createRuntime, createScope, defineAgent, defineTool, memoryStore, type Scope } from 'perdure'
import { type Client, createClient, PerdureError } from 'perdure/client'
import { bearerToken, serve } from 'perdure/server'
import { scriptedModel } from 'perdure/testing'
import { z } from 'zod'

/** Stands for your sessions: maps a token to an identity. */
const sessions = new Map([
  ['token-of-ann', { user: 'ann', tenant: 'acme' }],
  ['token-of-bob', { user: 'bob', tenant: 'acme' }],
  ['token-of-eve', { user: 'eve', tenant: 'other' }],
])
const invoices = new Map([
  ['acme', ['A-1', 'A-2']],
  ['other', ['O-1']],
])

const listInvoices = defineTool({
  name: 'list_invoices',
  description: 'List the invoices of the customer',
  input: z.object({}),
  // The scope comes from the request, never from the model, so no prompt can ask for another customer's data.
  run: async (_, turn) => invoices.get(turn.scope.tenant ?? '') ?? [],
})
const model = scriptedModel(({ prompt }) => {
  const result = JSON.stringify(prompt).match(/[AO]-\d/g)
  return result ? `You have ${result.join(' and ')}.` : { calls: [{ tool: 'list_invoices', args: {} }] }
})
const clerk = defineAgent({ name: 'clerk', model, tools: [listInvoices] })

const store = memoryStore()
const runtime = createRuntime({
  agents: [clerk],
  store,
  // With this option, a scope without a tenant is refused.
  tenant: (scope) => scope.tenant ?? '',
  // Work that continues in another process, or after a crash, needs the identity again: only its id is stored.
  restoreScope: (tenant, who) => createScope({ user: who, tenant }),
})
const server = await serve(runtime, {
  port: 0,
  authenticate(request): Scope | null {
    const session = sessions.get(bearerToken(request) ?? '')
    return session ? createScope(session) : null
  },
})

const clientOf = (token: string) => createClient({ url: server.url, token })
const [ann, bob, eve] = [clientOf('token-of-ann'), clientOf('token-of-bob'), clientOf('token-of-eve')]

async function ask(client: Client): Promise<string> {
  const chat = client.conversation('billing', { agent: 'clerk' })
  const outcome = await chat.outcome((await chat.send('What do I owe?')).turnId)
  return outcome.status === 'completed' ? outcome.text : outcome.status
}
async function refusalOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  return PerdureError.isInstance(error) ? error.code : 'none'
}

// The same id in two tenants is two conversations.
console.log('ann:', await ask(ann))
console.log('eve:', await ask(eve))
console.log('unknown:', await refusalOf(ask(clientOf('guessed'))))
await ann.conversation('secret', { agent: 'clerk' }).send('Only for acme.')

const seenByBob = await bob.conversation('secret').view()
console.log(`bob, of the same tenant, sees: ${seenByBob.messages.length > 0 ? 'the conversation' : 'nothing'}`)
const foreign = await refusalOf(eve.conversation('secret').view())
const missing = await refusalOf(eve.conversation('never-begun').view())
console.log(`eve, of another: ${foreign}; for what does not exist: ${missing}`)
assert.equal(foreign, missing)
const { conversations } = await eve.conversations()
console.log('eve lists:', conversations.map(({ id }) => id).join(', '))

await server.close()
await runtime.close()
await store.close()
