import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { RemoteError, ServerUnreachableError } from '../base/errors/server-errors.ts'
import type { Client } from '../client/create-client.ts'
import type { LiveFrame, LiveOptions } from '../client/live.ts'
import type { WatchOptions } from '../client/watch.ts'
import type { WatchEvent } from '../view/growing-view.ts'
import { type Change, type Follower, Link } from './link.ts'
import { Tab } from './tab.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('components that mount together share one connection, which ends with the last of them', async () => {
  const { link, feeds } = world()
  const stops = ['a', 'b'].map((id) => link.follow(id, null, follower()))
  const stopListening = link.listen({ onChange: () => {}, onConnect: () => {}, onDisconnect: () => {} })
  await settled()
  expect(feeds.map(({ options }) => options.watch)).toEqual([{ a: null, b: null }])
  for (const stop of stops) stop()
  expect(feeds[0]!.isOpen).toBe(true)
  stopListening()
  expect(feeds[0]!.isOpen).toBe(false)
  expect(link.connection.value.status).toBe('connecting')
})

test('a conversation that comes later is added, and the others continue where they were', async () => {
  const { link, feeds } = world()
  const first = follower()
  link.follow('a', null, first)
  await settled()
  await feeds[0]!.send({ type: 'reset' }, 'f1')
  await feeds[0]!.send({ type: 'watched', conversationId: 'a', id: '7', event: event(7) }, 'f2')
  link.follow('b', '3', follower())
  await settled()
  expect(feeds[0]!.isOpen).toBe(false)
  expect(feeds[1]!.options).toMatchObject({ after: 'f2', watch: { a: '7', b: '3' } })
  await feeds[1]!.send({ type: 'watched', conversationId: 'a', id: '8', event: event(8) }, 'f3')
  expect(first.seen).toEqual([7, 8])
})

test('a listener is told to read everything first, also when the feed is there already', async () => {
  const { link, feeds } = world()
  const heard: Change['type'][][] = [[], []]
  const listen = (to: number) =>
    link.listen({ onChange: ({ type }) => void heard[to]!.push(type), onConnect: () => {}, onDisconnect: () => {} })
  listen(0)
  await settled()
  expect(heard[0]).toEqual([])
  await feeds[0]!.send({ type: 'reset' }, 'f1')
  listen(1)
  await feeds[0]!.send({ type: 'gone', id: 'x' }, 'f2')
  expect(heard).toEqual([
    ['reset', 'gone'],
    ['reset', 'gone'],
  ])
})

test('a lost connection is told with the time of the next attempt, which retry does not wait for', async () => {
  const { link, feeds } = world()
  const one = follower()
  link.follow('a', null, one)
  await settled()
  feeds[0]!.options.onConnect!()
  expect(link.connection.value.status).toBe('live')
  feeds[0]!.options.onDisconnect!(new ServerUnreachableError('gone'), 500)
  expect(link.connection.value).toMatchObject({ status: 'offline', nextAttemptAt: Date.now() + 500 })
  expect(one.told).toEqual(['connect', 'disconnect'])
  link.retry()
  await settled()
  expect(feeds).toHaveLength(2)
})

test('a conversation that does not exist is followed once it is there', async () => {
  const { link, feeds } = world()
  const one = follower()
  link.follow('new', null, one)
  await settled()
  await feeds[0]!.send({ type: 'unwatched', conversationId: 'new' }, 'f1')
  expect(one.told).toEqual(['end conversation_not_found'])
  await feeds[0]!.send({ type: 'conversation', record: { id: 'new' } as never, calls: [] }, 'f2')
  await settled()
  expect(feeds[1]!.options.watch).toEqual({ new: null })
})

test('what the server refuses for good ends all, until something asks again', async () => {
  const { link, feeds } = world()
  const one = follower()
  const errors: unknown[] = []
  link.follow('a', null, one)
  link.listen({ onChange: () => {}, onConnect: () => {}, onDisconnect: (error) => void errors.push(error) })
  await settled()
  const refusal = problem('unauthenticated', 401)
  await feeds[0]!.fail(refusal)
  expect(one.told).toEqual(['end unauthenticated'])
  expect(errors).toEqual([refusal])
  expect(link.connection.value).toEqual({ status: 'offline', nextAttemptAt: null, error: refusal })
})

test('the ninth conversation has a stream of its own', async () => {
  const { link, feeds, streams } = world()
  const stops = Array.from({ length: 9 }, (_, n) => link.follow(`c${n}`, null, follower()))
  await settled()
  expect(Object.keys(feeds[0]!.options.watch!)).toHaveLength(8)
  expect(streams.map(({ id }) => id)).toEqual(['c8'])
  for (const stop of stops) stop()
  expect(streams[0]!.options.signal!.aborted).toBe(true)
})

test('without a feed on the server each conversation has a stream, and lists are read every few seconds', async () => {
  const { link, feeds, streams } = world()
  const heard: string[] = []
  link.follow('a', '5', follower())
  const stop = link.listen({
    onChange: ({ type }) => void heard.push(type),
    onConnect: () => {},
    onDisconnect: () => {},
  })
  await settled()
  await feeds[0]!.fail(problem('route_not_found', 404))
  expect(streams.map(({ id, options }) => [id, options.after])).toEqual([['a', '5']])
  await vi.advanceTimersByTimeAsync(3_000)
  expect(heard).toEqual(['reset', 'reset'])
  stop()
  await vi.advanceTimersByTimeAsync(9_000)
  expect(heard).toHaveLength(2)
})

const settled = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0)
const event = (seq: number): WatchEvent => ({ seq, type: 'note' }) as unknown as WatchEvent
const problem = (code: string, status: number) =>
  new RemoteError({ code, detail: code, status, retryable: false } as never)

function follower(): Follower & { readonly seen: number[]; readonly told: string[] } {
  const seen: number[] = []
  const told: string[] = []
  return {
    seen,
    told,
    onEvent: (given) => void seen.push((given as unknown as { seq: number }).seq),
    onConnect: () => void told.push('connect'),
    onDisconnect: () => void told.push('disconnect'),
    onEnd: (error) => void told.push(`end ${(error as { code: string }).code}`),
  }
}

type Step = { readonly frame: LiveFrame; readonly id: string } | { readonly error: unknown }

/** The connection that a link has opened, in the hand of a test. */
class Feed {
  readonly options: LiveOptions
  readonly #steps: Step[] = []
  #wake = (): void => {}

  constructor(options: LiveOptions) {
    this.options = options
  }

  get isOpen(): boolean {
    return !this.options.signal!.aborted
  }

  async send(frame: LiveFrame, id: string): Promise<void> {
    this.#steps.push({ frame, id })
    this.#wake()
    await settled()
  }

  async fail(error: unknown): Promise<void> {
    this.#steps.push({ error })
    this.#wake()
    await settled()
  }

  async *frames() {
    for (;;) {
      for (let step = this.#steps.shift(); step; step = this.#steps.shift()) {
        if ('error' in step) throw step.error
        yield { id: step.id, event: step.frame }
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

function world() {
  const feeds: Feed[] = []
  const streams: { readonly id: string; readonly options: WatchOptions }[] = []
  const client = {
    live: (options: LiveOptions) => {
      const feed = new Feed(options)
      feeds.push(feed)
      return feed.frames()
    },
    conversation: (id: string) => ({
      watch: (options: WatchOptions) => {
        streams.push({ id, options })
        return new Feed(options as LiveOptions).frames()
      },
    }),
  }
  return { link: new Link(client as unknown as Client, new Tab({})), feeds, streams }
}
