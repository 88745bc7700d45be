import { expect, test, vi } from 'vitest'
import { createScope, type Scope } from '../../src/define/scope.ts'
import type { Authorize } from '../../src/runtime/authorize/authorize.ts'
import { bearerToken } from '../../src/server/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { startServer } from './start-server.ts'

const scopeOf = (user: string): Scope => createScope({ user, tenant: 'acme' }) as Scope
const userIn = (scope: Scope): string => (scope as { readonly user: string }).user
const ownOnly: Authorize = ({ scope, conversation }) => conversation === null || conversation.owner === userIn(scope)

const watchX = `/live?watch=${encodeURIComponent('{"x":null}')}`

test.each([
  ['the stream of a conversation', '/conversations/x/live', 'snapshot'],
  ['the stream of a conversation that goes on after a place', '/conversations/x/live?after=1', 'turn_ended'],
  ['the feed of a tenant that watches it', watchX, 'snapshot'],
])('%s tells nothing of what another user opens under the same id once it was deleted', async (_, path, first) => {
  const { server, runtime } = await withX()
  const [bobs, anns] = [await openStream(`${server.url}${path}`, 'bob'), await openStream(`${server.url}/live`, 'ann')]
  await vi.waitFor(() => expect(bobs.text()).toContain(first), { timeout: 10_000 })
  const [bob, ann] = ['bob', 'ann'].map((user) => runtime.as(scopeOf(user)))
  await bob!.conversation('x').delete()
  await (await ann!.conversation('x', { agent: 'helper' }).send('A secret question')).outcome()
  await ann!.conversation('x').rename('A secret title')
  await vi.waitFor(() => expect(anns.text()).toContain('A secret title'), { timeout: 10_000 })
  if (path === watchX) {
    // What comes later in the feed of the tenant: the row of the other's conversation is not in between.
    await bob!.conversation('later', { agent: 'helper' }).send('Hi')
    for (const word of ['unwatched', '"later"'])
      await vi.waitFor(() => expect(bobs.text()).toContain(word), { timeout: 10_000 })
  } else await vi.waitFor(() => expect(bobs.isEnded()).toBe(true), { timeout: 10_000 })
  expect(bobs.text()).not.toMatch(/secret/i)
  for (const stream of [bobs, anns]) stream.close()
})

test('a stream of a page of the AI SDK ends when its conversation was deleted, also for a turn of the same key in the next', async () => {
  const { server, runtime } = await withX()
  const [bob, ann] = ['bob', 'ann'].map((user) => runtime.as(scopeOf(user)))
  const { turnId } = await bob!.conversation('x').send('Slowly', { key: 'k' })
  const bobs = await openStream(`${server.url}/ui/helper/x/stream?turn=${turnId}`, 'bob')
  await vi.waitFor(() => expect(bobs.text()).toContain('One'), { timeout: 10_000 })
  await bob!.conversation('x').delete()
  const again = await ann!.conversation('x', { agent: 'helper' }).send('A secret question', { key: 'k' })
  expect(again.turnId).toBe(turnId)
  await again.outcome()
  await vi.waitFor(() => expect(bobs.isEnded()).toBe(true), { timeout: 10_000 })
  expect(bobs.text()).not.toMatch(/secret/i)
})

test('without authorize, a stream goes on with what is opened under the same id', async () => {
  const { server, runtime } = await withX(null)
  const stream = await openStream(`${server.url}/conversations/x/live`, 'bob')
  await vi.waitFor(() => expect(stream.text()).toContain('snapshot'), { timeout: 10_000 })
  const verbs = runtime.as(scopeOf('ann'))
  await verbs.conversation('x').delete()
  await (await verbs.conversation('x', { agent: 'helper' }).send('Anew')).outcome()
  await vi.waitFor(() => expect(stream.text()).toContain('Anew'), { timeout: 10_000 })
  expect(stream.isEnded()).toBe(false)
  stream.close()
})

type Stream = { text(): string; isEnded(): boolean; close(): void }

async function openStream(url: string, user: string): Promise<Stream> {
  const leaving = new AbortController()
  const response = await fetch(url, { headers: { authorization: `Bearer ${user}` }, signal: leaving.signal })
  expect(response.status).toBe(200)
  let [text, isEnded] = ['', false]
  const reading = async (): Promise<void> => {
    for await (const chunk of response.body!) text += new TextDecoder().decode(chunk)
  }
  reading().then(
    () => void (isEnded = true),
    () => {},
  )
  return { text: () => text, isEnded: () => isEnded, close: () => leaving.abort() }
}

/** A conversation that Bob has opened. */
async function withX(authorize: Authorize | null = ownOnly) {
  const model = scriptedModel(({ prompt }) => {
    const said = JSON.stringify(prompt.at(-1))
    if (said.includes('Slowly')) return { text: ['One ', 'two'], delayMs: 60_000 }
    return said.includes('secret') ? 'A secret answer.' : 'Hello.'
  })
  const authenticate = (request: Request): Scope | null => scopeOf(bearerToken(request)!)
  const started = await startServer({ model, serve: { authenticate }, runtime: () => (authorize ? { authorize } : {}) })
  await (await started.runtime.as(scopeOf('bob')).conversation('x', { agent: 'helper' }).send('Hi')).outcome()
  return started
}
