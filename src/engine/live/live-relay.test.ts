import fc from 'fast-check'
import { expect, test } from 'vitest'
import { emptyWorkingSet, join, Log } from '../../../test/live/channel-log.ts'
import { LossyBus, relayNode } from '../../../test/live/relay-nodes.ts'
import { replied, said } from '../../../test/log/story.ts'
import { until } from '../../../test/stories/until.ts'
import { withEvents } from '../../store/working-sets.ts'
import type { Channel } from './channel.ts'
import type { LiveVoice } from './channel-relay.ts'
import { messagesOf, noSeal, sealWith, textOf } from './live-message.ts'

/** A message as an owner writes it. */
class Writer {
  readonly #voice: LiveVoice
  readonly #messageId: string
  #n = 0

  constructor(channel: Channel, epoch: number, messageId: string) {
    this.#voice = channel.voice(epoch)
    this.#messageId = messageId
  }

  say(delta: string, part = 'p'): void {
    this.#n += 1
    this.#voice.emit({ type: 'text_delta', turnId: 't1', messageId: this.#messageId, n: this.#n, part, delta }, 1)
  }
}

function owning(channel: Channel, log: Log, epoch: number): () => unknown {
  return channel.attach(() => withEvents(emptyWorkingSet, log.events), epoch)
}

function startedLog(): Log {
  const log = new Log()
  log.append(said('t1'))
  return log
}

test('a watcher at another node is told what is written, also of what was before it came', async () => {
  const [bus, log] = [new LossyBus(), startedLog()]
  const [here, elsewhere] = [relayNode(bus, log), relayNode(bus, log)]
  owning(here.channel, log, 1)
  const writer = new Writer(here.channel, 1, 'm1')
  writer.say('Once ')
  const watcher = await join(elsewhere.channel)
  await elsewhere.channel.liveKnown()
  expect(elsewhere.shown()).toBe('m1: Once ')
  writer.say('upon ')
  writer.say('a time', 'q')
  await until(() => elsewhere.shown() === 'm1: Once upon |a time')
  expect(watcher.view()).toEqual(elsewhere.channel.view())
})

test('nothing is sent for a conversation that no other node watches', async () => {
  const [bus, log] = [new LossyBus(), startedLog()]
  const here = relayNode(bus, log)
  owning(here.channel, log, 1)
  await join(here.channel)
  await until(() => bus.sent.length > 0)
  new Writer(here.channel, 1, 'm1').say('Once')
  await new Promise((resolve) => setTimeout(resolve, 60))
  expect(bus.sent.map(({ text }) => text)).toEqual([textOf(['["q"]'])])
})

test('an owner that lost its lease and goes on is not heard, and what it had written is taken back', async () => {
  const [bus, log] = [new LossyBus(), startedLog()]
  const [old, next, watching] = [relayNode(bus, log), relayNode(bus, log), relayNode(bus, log)]
  const watcher = await join(watching.channel)
  owning(old.channel, log, 4)
  const lost = new Writer(old.channel, 4, 'm1')
  lost.say('Once ')
  await until(() => watching.shown() === 'm1: Once ')
  owning(next.channel, log, 5)
  const now = new Writer(next.channel, 5, 'm2')
  for (let n = 0; n < 20; n++) {
    lost.say(`lost ${n} `)
    now.say(`${n} `)
    if (n % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 30))
  }
  const all = Array.from({ length: 20 }, (_, n) => `${n} `).join('')
  await until(() => watching.shown() === `m2: ${all}`)
  expect(watcher.view().drafts).toEqual(watching.channel.view().drafts)
  const discarded = watcher.told.flatMap((event) =>
    typeof event === 'object' && event.type === 'message_discarded' ? [event.messageId] : [],
  )
  expect(discarded).toEqual(['m1'])
})

test('whatever is lost, the text is whole once something arrives again, and never has a piece twice', async () => {
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.nat(3)), async (dice) => {
      const [bus, log] = [new LossyBus(), startedLog()]
      const [here, elsewhere] = [relayNode(bus, log), relayNode(bus, log)]
      owning(here.channel, log, 1)
      const watcher = await join(elsewhere.channel)
      await elsewhere.channel.liveKnown()
      const writer = new Writer(here.channel, 1, 'm1')
      bus.loses = () => dice.next().value === 0
      let text = ''
      for (let n = 0; n < 6; n++) {
        writer.say(`${n} `)
        text += `${n} `
        await new Promise((resolve) => setTimeout(resolve, 30))
        const shown = elsewhere.shown().replace('m1: ', '')
        expect(text.startsWith(shown)).toBe(true)
      }
      bus.loses = () => false
      writer.say('end')
      await until(() => elsewhere.shown() === `m1: ${text}end`)
      expect(watcher.view().drafts).toEqual(elsewhere.channel.view().drafts)
      for (const { relay } of [here, elsewhere]) await relay.close()
    }),
    { numRuns: 4 },
  )
})

test('a bus that was away brings the whole when it is back', async () => {
  const [bus, log] = [new LossyBus(), startedLog()]
  const [here, elsewhere] = [relayNode(bus, log), relayNode(bus, log)]
  owning(here.channel, log, 1)
  await join(elsewhere.channel)
  const writer = new Writer(here.channel, 1, 'm1')
  writer.say('One ')
  await until(() => elsewhere.shown() === 'm1: One ')
  bus.isCut = true
  writer.say('two ')
  await new Promise((resolve) => setTimeout(resolve, 60))
  writer.say('three')
  expect(elsewhere.shown()).toBe('m1: One ')
  bus.mend()
  await until(() => elsewhere.shown() === 'm1: One two three')
})

test('what exceeds its bound is sent anew as a whole, in texts that the bus can carry', async () => {
  const [bus, log] = [new LossyBus(), startedLog()]
  const [here, elsewhere] = [relayNode(bus, log), relayNode(bus, log)]
  owning(here.channel, log, 1)
  await join(elsewhere.channel)
  await elsewhere.channel.liveKnown()
  const writer = new Writer(here.channel, 1, 'm1')
  const deltas = Array.from({ length: 20_000 }, (_, n) => `\u0001ü${n} `)
  for (const delta of deltas) writer.say(delta)
  await until(() => elsewhere.shown().length === 'm1: '.length + deltas.join('').length)
  expect(elsewhere.shown()).toBe(`m1: ${deltas.join('')}`)
  expect(Math.max(...bus.sent.map(({ text }) => Buffer.byteLength(text)))).toBeLessThan(96 * 1024)
  expect(bus.sent.length).toBeLessThan(60)
})

test('of a message that the log could not take, only the beginning is sent', async () => {
  const [bus, log] = [new LossyBus(), startedLog()]
  const [here, elsewhere] = [relayNode(bus, log), relayNode(bus, log)]
  owning(here.channel, log, 1)
  const writer = new Writer(here.channel, 1, 'm1')
  for (let n = 0; n < 12; n++) writer.say('x'.repeat(100_000))
  await join(elsewhere.channel)
  await elsewhere.channel.liveKnown()
  await until(() => elsewhere.shown().length >= 1_000_000)
  writer.say('more')
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(elsewhere.shown().length).toBe('m1: '.length + 1024 * 1024)
})

test('what is no message of a node changes nothing, and throws nothing', async () => {
  const [bus, log] = [new LossyBus(), startedLog()]
  const [here, elsewhere] = [relayNode(bus, log), relayNode(bus, log)]
  owning(here.channel, log, 1)
  await join(elsewhere.channel)
  const writer = new Writer(here.channel, 1, 'm1')
  writer.say('One')
  await until(() => elsewhere.shown() === 'm1: One')
  const item = fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue(), { maxLength: 10 }))
  const live = fc.tuple(fc.constant('l'), fc.constant('default'), fc.constant('story'), fc.constant(1), fc.array(item))
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc
      .array(fc.oneof(live, fc.jsonValue()))
      .map((messages) => textOf(messages.map((message) => JSON.stringify(message)))),
  )
  fc.assert(
    fc.property(text, (hostile) => {
      bus.give('ffffffffffffffff', { to: null, text: hostile })
    }),
  )
  writer.say(' two')
  await until(() => elsewhere.shown() === 'm1: One two')
})

test('text of a message that is committed meanwhile is not shown again', async () => {
  const [bus, log] = [new LossyBus(), startedLog()]
  const [here, elsewhere] = [relayNode(bus, log), relayNode(bus, log)]
  owning(here.channel, log, 1)
  const watcher = await join(elsewhere.channel)
  const writer = new Writer(here.channel, 1, 'm1')
  writer.say('One')
  await until(() => elsewhere.shown() === 'm1: One')
  const late = bus.sent.findLast(({ text }) => text.includes('One'))!
  log.append(replied('t1', 'm1', 1))
  await elsewhere.channel.poll()
  bus.give(late.from, late)
  expect(elsewhere.shown()).toBe('')
  expect(watcher.view()).toEqual(elsewhere.channel.view())
})

test('text that comes before its place in the log waits for it', async () => {
  const [bus, log] = [new LossyBus(), startedLog()]
  const elsewhere = relayNode(bus, log)
  const watcher = await join(elsewhere.channel)
  const text = ['l', 'default', 'story', 3, [['t', 2, 't1', 'm2', 1, 0, 0, 'p', '', 'Later']]]
  bus.give('ffffffffffffffff', { to: null, text: textOf([JSON.stringify(text)]) })
  expect(elsewhere.shown()).toBe('')
  log.append(replied('t1', 'm1', 1))
  await elsewhere.channel.poll()
  expect(elsewhere.shown()).toBe('m2: Later')
  expect(watcher.view()).toEqual(elsewhere.channel.view())
})

test('nodes with a secret hear only those that have the same', async () => {
  const [bus, log] = [new LossyBus(), startedLog()]
  const seal = sealWith(Buffer.alloc(32, 1))
  const [here, friend] = [relayNode(bus, log, seal), relayNode(bus, log, seal)]
  const strangers = [relayNode(bus, log, sealWith(Buffer.alloc(32, 2))), relayNode(bus, log, noSeal)]
  owning(here.channel, log, 1)
  for (const { channel } of [friend, ...strangers]) await join(channel)
  new Writer(here.channel, 1, 'm1').say('A secret')
  await until(() => friend.shown() === 'm1: A secret')
  expect(strangers.map(({ shown }) => shown())).toEqual(['', ''])
  expect(bus.sent.filter(({ text }) => text.includes('secret'))).toEqual([])
})

test('a text of another version is left out', () => {
  expect(messagesOf('[2,["q"]]')).toEqual([])
  expect(messagesOf('[1,["q"],["later"]]')).toEqual([{ type: 'who_watches' }])
})
