import { expect, test } from 'vitest'
import { z } from 'zod'
import { createClient, type LiveFrame, type LiveOptions, type Watched } from '../../src/client/index.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { bearerToken, createHandler } from '../../src/server/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { pendingOf } from './pending-of.ts'

const pay = defineTool({
  name: 'pay',
  description: 'Pay',
  input: z.object({}),
  approval: 'required',
  run: () => 'paid',
})
const model = scriptedModel(({ prompt }) => {
  const last = prompt.at(-1)!
  return last.role === 'user' && JSON.stringify(last).includes('pay')
    ? { calls: [{ tool: 'pay', args: {} }] }
    : 'Hello.'
})
const agents = [defineAgent({ name: 'helper', model, tools: [pay] })] as const
const asking = defineFlow({ name: 'asking', version: 1, run: async (flow) => flow.suspend('ok?') })

/** A client of its own, as this user, over a handler of its own: as after a restart of the server. */
function connect(runtime: object, user = 'ann', tenant = 'acme') {
  const handler = createHandler(runtime as Runtime, {
    authenticate: (request) => {
      const [name, of] = (bearerToken(request) ?? '').split('@')
      return createScope({ user: name!, tenant: of! })
    },
  })
  const send = (async (url: URL, init: RequestInit) => handler(new Request(url, init))) as unknown as typeof fetch
  return { handler, client: createClient({ url: 'http://localhost', token: `${user}@${tenant}`, fetch: send }) }
}

type Feed = {
  /** Reads on until one fits. */
  until(fits: (frame: LiveFrame) => boolean): Promise<Watched<LiveFrame>>
  readonly seen: LiveFrame[]
  stop(): void
}

function follow(client: ReturnType<typeof connect>['client'], options: LiveOptions = {}): Feed {
  const stop = new AbortController()
  const frames = client.live({ ...options, signal: stop.signal })
  const seen: LiveFrame[] = []
  return {
    seen,
    stop: () => stop.abort(),
    async until(fits) {
      for (;;) {
        const { done, value } = await frames.next()
        if (done) throw new Error('the feed ended')
        seen.push(value.event)
        if (fits(value.event)) return value
      }
    },
  }
}

const isReset = ({ type }: LiveFrame) => type === 'reset'
const isOf =
  (id: string, status?: string) =>
  (frame: LiveFrame): boolean =>
    frame.type === 'conversation' && frame.record.id === id && (status === undefined || frame.record.status === status)
const idle = async (verbs: { conversation: Runtime['conversation'] }, id: string, text = 'hi') =>
  (await verbs.conversation(id, { agent: 'helper' } as never).send(text)).outcome()
const ann = createScope({ user: 'ann', tenant: 'acme' })

overStores('the feed of a tenant', (story) => {
  test('begins with a reset, and tells of each change with the row and what waits', async () => {
    const runtime = story.start({ agents, flows: [asking] })
    const verbs = runtime.as(ann)
    const { client } = connect(runtime)
    const feed = follow(client)
    await feed.until(isReset)
    await idle(verbs as never, 'c1')
    const { event } = await feed.until(isOf('c1', 'idle'))
    expect(event).toMatchObject({ record: { owner: 'ann', lastMessage: { text: 'Hello.' }, waiting: 0 }, calls: [] })
    const [item] = await pendingOf(await verbs.conversation('c2', { agent: 'helper' }).send('pay'))
    const waiting = await feed.until(
      (frame) => isOf('c2', 'waiting')(frame) && 'calls' in frame && frame.calls.length > 0,
    )
    expect(waiting.event).toMatchObject({ record: { waiting: 1 }, calls: [{ callId: item!.callId, round: 1 }] })
    await verbs.conversation('c2').approve(item!)
    await feed.until((frame) => isOf('c2')(frame) && 'calls' in frame && frame.calls.length === 0)
    await verbs.flow(asking, 's1').start(null)
    const asked = await feed.until((frame) => frame.type === 'session' && frame.calls.length > 0)
    expect(asked.event).toMatchObject({ session: { id: 's1', flow: 'asking', status: 'waiting' } })
    await verbs.conversation('c1').delete()
    await feed.until((frame) => frame.type === 'gone' && frame.id === 'c1')
    feed.stop()
  })

  test('tells what changed while the client was away, on the same server and on another', async () => {
    const runtime = story.start({ agents })
    const verbs = runtime.as(ann) as never as Runtime
    const first = connect(runtime)
    const feed = follow(first.client)
    await feed.until(isReset)
    await idle(verbs, 'c1')
    const { id } = await feed.until(isOf('c1', 'idle'))
    feed.stop()
    await idle(verbs, 'c2')
    await idle(verbs, 'c3')
    await verbs.conversation('c3').delete()
    for (const { client } of [first, connect(runtime)]) {
      const again = follow(client, { after: id! })
      const isGone = (frame: LiveFrame) => frame.type === 'gone' && frame.id === 'c3'
      await again.until(() => again.seen.some(isOf('c2', 'idle')) && again.seen.some(isGone))
      expect(again.seen.some(isReset)).toBe(false)
      again.stop()
    }
  })

  test('tells what other processes commit', async () => {
    const runtime = story.start({ agents, work: false })
    const other = story.start({ agents, store: story.reopen(runtime.store) })
    const feed = follow(connect(runtime).client)
    await feed.until(isReset)
    await idle(other.as(ann) as never, 'c1')
    await feed.until(isOf('c1', 'idle'))
    feed.stop()
  })

  test('has rows without content for a caller who may list a conversation and not read it, as lists have', async () => {
    const runtime = story.start({
      agents,
      authorize: ({ scope, action }) => scope.user === 'ann' || (action === 'list' ? 'all' : false),
    })
    await idle(runtime.as(ann) as never, 'c1')
    const told = await connect(runtime).client.conversations()
    expect(told.conversations).toMatchObject([{ id: 'c1', lastMessage: { text: 'Hello.' }, tokens: 15 }])
    const { client } = connect(runtime, 'eve')
    const listed = await client.conversations()
    expect(listed.conversations).toMatchObject([{ id: 'c1', lastMessage: null, tokens: null }])
    const feed = follow(client)
    await feed.until(isReset)
    await idle(runtime.as(ann) as never, 'c2')
    const { event } = await feed.until(isOf('c2', 'idle'))
    expect(event).toMatchObject({ record: { lastMessage: null, tokens: null } })
    feed.stop()
  })

  test('tells a caller nothing of what authorize refuses, nor of other tenants, also after a cursor of theirs', async () => {
    const runtime = story.start({
      agents,
      authorize: ({ scope, conversation }) =>
        conversation === null || conversation.owner === (scope as { user?: string }).user,
    })
    const mine = follow(connect(runtime, 'bob').client)
    const { id } = await mine.until(isReset)
    const elsewhere = follow(connect(runtime, 'ann', 'other').client, { after: id! })
    await elsewhere.until(isReset)
    await idle(runtime.as(ann) as never, 'secret')
    await runtime.as(ann).conversation('secret').delete()
    await idle(runtime.as(createScope({ user: 'bob', tenant: 'acme' })) as never, 'bobs')
    await idle(runtime.as(createScope({ user: 'ann', tenant: 'other' })) as never, 'others')
    const { id: later } = await mine.until(isOf('bobs', 'idle'))
    await elsewhere.until(isOf('others', 'idle'))
    const again = follow(connect(runtime, 'bob').client, { after: later! })
    await again.until(isReset)
    for (const feed of [mine, elsewhere, again]) {
      expect(JSON.stringify(feed.seen)).not.toContain('secret')
      feed.stop()
    }
    expect(JSON.stringify(elsewhere.seen)).not.toContain('bobs')
  })

  test('brings the events of watched conversations along, and continues with each after a break', async () => {
    const runtime = story.start({ agents })
    const verbs = runtime.as(ann) as never as Runtime
    await idle(verbs, 'c1')
    const { client, handler } = connect(runtime)
    const feed = follow(client, { watch: { c1: null, none: 3 }, backoff: { firstMs: 1 } })
    const isEvent = (type: string) => (frame: LiveFrame) => frame.type === 'watched' && frame.event.type === type
    await feed.until((frame) => frame.type === 'unwatched' && frame.conversationId === 'none')
    const { event } = await feed.until(isEvent('snapshot'))
    expect(event).toMatchObject({ conversationId: 'c1', event: { view: { messages: [{}, {}] } } })
    await idle(verbs, 'c1', 'again')
    await feed.until(isEvent('turn_ended'))
    expect(feed.seen.some(isEvent('text_delta'))).toBe(true)
    const places = feed.seen.flatMap((frame) => (frame.type === 'watched' ? [frame.id] : []))
    feed.stop()
    await idle(verbs, 'c1', 'once more')
    const next = follow(client, { watch: { c1: places.at(-1)! } })
    await next.until(isEvent('turn_ended'))
    expect(next.seen.some(isEvent('snapshot'))).toBe(false)
    next.stop()
    handler.close()
  })
})

test('wrong values of its parameters are refused', async () => {
  const { memoryStore } = await import('../../src/store/memory/memory-store.ts')
  const { createRuntime } = await import('../../src/runtime/create-runtime.ts')
  const store = memoryStore()
  const runtime = createRuntime({ agents, store })
  const { handler } = connect(runtime)
  const many = JSON.stringify(Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`c${n}`, null])))
  const wrong = [
    ...['after=x', 'after=1@zz.1', `after=${'1'.repeat(5_000)}`, 'after=', 'nonsense=1'],
    ...['watch=x', 'watch=[]', 'watch=null', 'watch=7', `watch=${encodeURIComponent(many)}`],
    ...['{"c":{}}', '{"c":"x y"}', '{"c":-1}', '{"c":1.5}', '{"c":true}'].map(
      (each) => `watch=${encodeURIComponent(each)}`,
    ),
    `watch=${encodeURIComponent(JSON.stringify({ ['c'.repeat(6_000)]: null }))}`,
  ]
  for (const query of wrong) {
    const headers = { authorization: 'Bearer ann@acme' }
    const response = await handler(new Request(`http://localhost/live?${query}`, { headers }))
    expect([query.slice(0, 40), response.status]).toEqual([query.slice(0, 40), 400])
  }
  for (const id of ['', '\u0000', 'c'.repeat(300), '..']) {
    const watch = encodeURIComponent(JSON.stringify({ [id]: null }))
    const headers = { authorization: 'Bearer ann@acme' }
    const response = await handler(new Request(`http://localhost/live?watch=${watch}`, { headers }))
    expect([id.slice(0, 9), response.status < 500]).toEqual([id.slice(0, 9), true])
    await response.body?.cancel()
  }
  await runtime.close()
  await store.close()
})
