import { expect, test } from 'vitest'
import { join, Log, settled } from '../../../test/live/channel-log.ts'
import { said } from '../../../test/log/story.ts'
import { Channel } from './channel.ts'

test('withdraws what was being written when another writer ends its turn without a message', async () => {
  const log = new Log()
  log.append(said('t1'))
  const channel = new Channel('story', log.read)
  const watcher = await join(channel)
  channel.emit({ type: 'text_delta', turnId: 't1', messageId: 'm1', n: 1, part: 'p', delta: 'Once' }, 1)
  log.append({ type: 'turn_ended', content: { turnId: 't1', status: 'failed', reason: null } })
  void channel.poll()
  await settled()
  const types = watcher.told.map((event) => typeof event === 'object' && event.type)
  expect(types.indexOf('message_discarded')).toBe(types.indexOf('turn_ended') - 1)
  expect(watcher.view()).toEqual(channel.view())
})

test('drops what an owner says after a later one began, and withdraws what it had written', async () => {
  const log = new Log()
  log.append(said('t1'))
  const channel = new Channel('story', log.read)
  const watcher = await join(channel)
  const [first, second] = [channel.voice(4), channel.voice(5)]
  const delta = (messageId: string, n: number, text: string) =>
    ({ type: 'text_delta', turnId: 't1', messageId, n, part: 'p', delta: text }) as const
  first.emit(delta('m1', 1, 'Once '), 1)
  second.emit(delta('m2', 1, 'There '), 1)
  first.emit(delta('m1', 2, 'upon'), 1)
  first.emit(delta('m3', 1, 'Late'), 1)
  second.emit(delta('m2', 2, 'was'), 1)
  first.withdraw(1)
  expect(channel.view().drafts).toMatchObject([{ messageId: 'm2', parts: [{ text: 'There was' }] }])
  expect(watcher.view()).toEqual(channel.view())
  second.withdraw(1)
  expect(channel.view().drafts).toEqual([])
})
