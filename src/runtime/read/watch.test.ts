import { expect, test } from 'vitest'
import { said } from '../../../test/log/story.ts'
import { silentLogger } from '../../base/logger.ts'
import { KeepAlive } from '../../engine/background-tasks.ts'
import { Channels } from '../../engine/live/log-poll.ts'
import type { LogEvent } from '../../log/events.ts'
import { memoryStore } from '../../store/memory/memory-store.ts'
import { WorkingSets } from '../../store/working-sets.ts'
import { watch } from './watch.ts'

test('a watcher that begins while an event of a later version arrives is shown what is before it, and told why it ends', async () => {
  const store = memoryStore({ logger: silentLogger })
  await store.commit('c1', { events: [said('t1')] })
  const channels = new Channels(store, new WorkingSets())
  const channel = channels.of('default', 'c1')
  channel.liveKnown = async () =>
    channel.publish([{ seq: 2, at: 1, type: 'later', content: {} } as unknown as LogEvent])
  const closed = new AbortController().signal
  const watched = { tenant: 'default', id: 'c1', store: store.forTenant('default'), channels, closed }
  const watching = watch({ ...watched, keepAlive: new KeepAlive() })
  expect((await watching.next()).value).toMatchObject({ type: 'snapshot', view: { seq: 1 } })
  await expect(watching.next()).rejects.toMatchObject({ code: 'event_unknown' })
})
