import { expect, test } from 'vitest'
import { join, Log } from '../../../test/live/channel-log.ts'
import { said } from '../../../test/log/story.ts'
import { silentLogger } from '../../base/logger.ts'
import type { NewEvent } from '../../log/events.ts'
import { memoryStore } from '../../store/memory/memory-store.ts'
import type { TenantStore } from '../../store/store.ts'
import { WorkingSets } from '../../store/working-sets.ts'
import { turnEnded, userMsg } from '../../testing/conformance/event-builders.ts'
import { Channel } from './channel.ts'
import { Channels } from './log-poll.ts'

const large = 'x'.repeat(1_000_000)

/** A channel with a listener, over a log that begins with these events; reading it more often than it needs fails. */
async function listened(begun: readonly NewEvent[], most: number) {
  const store = memoryStore({ logger: silentLogger })
  await store.commit('c', { events: begun, conversation: { agent: 'helper' }, wakeAt: null })
  let reads = 0
  const counted: TenantStore = {
    ...store.forTenant('default'),
    pageEvents: (id, range) => {
      reads += 1
      if (reads > most) throw new Error('it is read again and again')
      return store.pageEvents(id, range)
    },
  }
  const channels = new Channels({ ...store, forTenant: () => counted }, new WorkingSets())
  const channel = channels.of('default', 'c')
  const told: number[] = []
  channel.listen({
    appended: (events) => told.push(...events.filter((event) => 'content' in event).map(({ seq }) => seq)),
    replaced: () => told.push(-1),
    failed: () => told.push(-2),
  })
  await channel.refresh()
  return { store, channel, told }
}

test('a log that ends with a large event is read to its end, and no further', async () => {
  const { channel, told } = await listened([userMsg(large, 't')], 5)
  expect(await channel.refresh()).toMatchObject({ lastSeq: 1 })
  expect(told).toEqual([])
})

test('large events that come one after another are all told, once', async () => {
  const { store, channel, told } = await listened([userMsg('go', 't'), turnEnded('t')], 20)
  for (let n = 0; n < 5; n++) await store.commit('c', { events: [userMsg(large, `t${n}`)], wakeAt: null })
  expect(await channel.refresh()).toMatchObject({ lastSeq: 7 })
  expect(told).toEqual([3, 4, 5, 6, 7])
})

test('a channel is watched as far as its listeners were told, and by none before they were told anything', async () => {
  const log = new Log()
  const channel = new Channel('story', log.read)
  expect(channel.watched()).toBe(null)
  await channel.refresh()
  expect(channel.watched()).toBe(null)
  const { leave } = await join(channel)
  expect(channel.watched()).toEqual({ seq: 0, at: null })
  channel.publish(log.append(said('t1'), said('t2')))
  expect(channel.watched()).toEqual({ seq: 2, at: log.events[1]!.at })
  leave()
  expect(channel.watched()).toBe(null)
  channel.listen({ appended: () => {}, replaced: () => {}, failed: () => {} })
  expect(channel.watched()).toBe(null)
})
