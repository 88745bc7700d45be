import { expect, test } from 'vitest'
import { emptyWorkingSet, Log } from '../../../test/live/channel-log.ts'
import { Channel } from './channel.ts'
import { interestMs, LiveSender } from './live-sender.ts'

function sending() {
  let now = 0
  const log = new Log()
  const channel = new Channel('story', log.read, (relayed) => ({
    changed() {},
    attached() {},
    emitted: (event, epoch) => sender.emitted('default', event, epoch, relayed),
    known: async () => {},
  }))
  const sender: LiveSender = new LiveSender({
    channelOf: (_, id) => (id === 'story' ? channel : undefined),
    onWaiting() {},
    now: () => now,
  })
  channel.attach(() => emptyWorkingSet, 1)
  const voice = channel.voice(1)
  let n = 0
  const say = (delta: string): void => {
    n += 1
    voice.emit({ type: 'text_delta', turnId: 't1', messageId: 'm1', n, part: 'p', delta }, 0)
  }
  const told = (): string[] => {
    const all: string[] = []
    for (let taken = sender.take(); taken; taken = sender.take()) all.push(...taken.map(({ to }) => to))
    return all
  }
  const ref = { tenant: 'default', id: 'story' }
  return { sender, voice, say, told, ref, pass: (ms: number) => void (now += ms) }
}

test('a node that does not announce again is told nothing after a while', () => {
  const { sender, say, told, ref, pass } = sending()
  sender.watch('a', ref, true)
  sender.watch('b', ref, true)
  say('One')
  expect(told()).toEqual(['a', 'b'])
  pass(interestMs - 1)
  sender.watch('b', ref, false)
  pass(1)
  say('two')
  expect(told()).toEqual(['b'])
  pass(interestMs)
  sender.sweep()
  expect(sender.isWatched).toBe(false)
})

test('announcements are kept up to a bound, for one conversation and for all', () => {
  const { sender, say, told, ref } = sending()
  for (let n = 0; n < 70; n++) sender.watch(`node-${n}`, ref, true)
  say('One')
  expect(told()).toHaveLength(64)
  for (let n = 0; n < 60_000; n++) sender.watch('node-0', { tenant: 'default', id: `other-${n}` }, true)
  const late = { tenant: 'default', id: 'late' }
  sender.watch('node-0', late, true)
  sender.attached(late.tenant, late.id)
  expect(sender.isWaiting).toBe(false)
})

test('what was sent does not count towards the bound of what waits', () => {
  const { sender, voice, ref } = sending()
  sender.watch('a', ref, true)
  sender.take()
  // In all, more than may wait at once.
  for (let n = 0; n < 600; n++) {
    voice.emit({ type: 'tool_progress', callId: 'c1', payload: 'x'.repeat(30_000) }, 0)
    // The progress itself, and not the whole of what is live.
    expect(sender.take()?.[0]?.messages.join('')).toMatch(/^\["l","default","story",1,\[\["p",0,"c1","x+"\]\]\]$/)
  }
})

test('2,000 deltas that come before they are taken are one message', () => {
  const { sender, say, ref, told } = sending()
  sender.watch('a', ref, true)
  told()
  for (let n = 0; n < 2_000; n++) say('word ')
  const taken = sender.take()!
  expect(taken.map(({ messages }) => messages.length)).toEqual([1])
  expect(taken[0]!.messages[0]!.length).toBeLessThan(2_000 * 'word '.length + 500)
})
