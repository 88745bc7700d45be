import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { emptyWorkingSet, join, Log, settled } from '../../../test/live/channel-log.ts'
import { Choices } from '../../../test/log/choices.ts'
import { ended, replied, said, stateOf } from '../../../test/log/story.ts'
import { film, filmedId } from '../../../test/view/film.ts'
import { StoreError } from '../../base/errors/store-errors.ts'
import type { NewEvent } from '../../log/events.ts'
import { foldEvents } from '../../log/fold-events.ts'
import { type WorkingSet, withEvents } from '../../store/working-sets.ts'
import { viewOf } from '../../view/view-of.ts'
import { Channel } from './channel.ts'

describe('a channel', () => {
  test('tells each listener each event once, whether it is published, hinted at, or both', async () => {
    const log = new Log()
    const channel = new Channel('story', log.read)
    const watcher = await join(channel)
    const first = log.append(said('t1'))
    channel.hint(1)
    channel.publish(first)
    await settled()
    expect(log.reads).toBe(1)
    log.append(said('t2'))
    channel.hint(2)
    channel.hint(2)
    await settled()
    await settled()
    expect(log.reads).toBe(2)
    expect(watcher.seqs()).toEqual([1, 2])
  })

  test('reads once for hints at the same events, however long that takes, and not for those it knows', async () => {
    const log = new Log()
    const channel = new Channel('story', log.read)
    const watcher = await join(channel)
    log.append(said('t1'), said('t2'))
    const slow = Promise.withResolvers<void>()
    log.isSlow = slow.promise
    for (const seq of [2, 2, 1]) channel.hint(seq)
    await settled()
    for (const seq of [1, 2]) channel.hint(seq)
    await settled()
    slow.resolve()
    await settled()
    channel.hint(2)
    await settled()
    await settled()
    expect([log.reads, watcher.seqs()]).toEqual([2, [1, 2]])
  })

  test('does not tell those who come later what was live before them: their view has it', async () => {
    const log = new Log()
    const channel = new Channel('story', log.read)
    log.append(said('t1'))
    await channel.refresh()
    const delta = { turnId: 't1', messageId: 'm1', n: 1, part: 'p', delta: 'Once' }
    channel.emit({ type: 'text_delta', ...delta }, 2)
    const watcher = await join(channel)
    expect(watcher.view().drafts).toHaveLength(1)
    channel.publish(log.append(said('t2')))
    expect(watcher.told.map((event) => typeof event === 'object' && event.type)).not.toContain('text_delta')
  })

  test('forgets what was to be told at a place of a log that is another one now', async () => {
    const log = new Log()
    const channel = new Channel('story', log.read)
    log.append(said('t1'))
    const watcher = await join(channel)
    channel.emit({ type: 'phase_changed', phase: 'preparing' }, 3)
    log.replace(said('t8'))
    await channel.refresh()
    channel.publish(log.append(said('t9'), said('t10')))
    const types = watcher.told.map((event) => (typeof event === 'object' ? event.type : event))
    expect(types).toContain('replaced')
    expect(watcher.told).not.toContainEqual(expect.objectContaining({ type: 'phase_changed', phase: 'preparing' }))
  })

  test('tells those who listen once of a commit, when its state has all of it', async () => {
    const log = new Log()
    const channel = new Channel('story', log.read)
    const told: [string[], number | undefined][] = []
    const leave = channel.listen({
      appended: (events) => told.push([events.map(({ type }) => type), channel.state?.lastSeq]),
      replaced: () => {},
      failed: () => {},
    })
    await channel.refresh()
    const first = ['user_msg', 'turn_started', 'phase_changed']
    channel.publish(log.append(said('t1'), replied('t1', 'm1', 1), ended('t1')))
    const rest = ['assistant_msg', 'message_completed', 'turn_ended', 'turn_completed', 'phase_changed']
    expect(told).toEqual([[[...first, ...rest], 3]])
    channel.publish([])
    channel.publish(log.events)
    log.append(said('t2'), ended('t2'))
    void channel.poll()
    await settled()
    expect(told.slice(1)).toMatchObject([[expect.arrayContaining(['user_msg', 'turn_ended']), 5]])
    leave()
  })

  test('tells what is before an event that it does not know, and then that it cannot go on', async () => {
    const log = new Log()
    const channel = new Channel('story', log.read)
    const watcher = await join(channel)
    const unknown = { type: 'from_the_future', content: {} } as unknown as NewEvent
    channel.publish(log.append(said('t1'), unknown, ended('t1')))
    expect(watcher.seqs()).toEqual([1])
    expect(watcher.told.at(-1)).toBe('failed')
  })

  test('reads what it missed before it tells of what came after', async () => {
    const log = new Log()
    const channel = new Channel('story', log.read)
    const watcher = await join(channel)
    log.append(said('t1'))
    const own = log.append(said('t2'))
    channel.publish(own)
    expect(watcher.seqs()).toEqual([])
    void channel.poll()
    await settled()
    expect(watcher.seqs()).toEqual([1, 2])
  })

  test('a reading that began before something was written is followed by another', async () => {
    const log = new Log()
    const channel = new Channel('story', log.read)
    let goOn = (): void => {}
    log.isSlow = new Promise((resolve) => {
      goOn = resolve
    })
    const early = channel.refresh()
    await settled()
    log.append(said('t1'))
    const late = channel.refresh()
    expect(channel.refresh()).toBe(late)
    log.isSlow = null
    goOn()
    expect((await early).lastSeq).toBe(0)
    expect((await late).lastSeq).toBe(1)
    expect(log.reads).toBe(2)
  })

  test('tells what is live only after the log it was sent at', async () => {
    const log = new Log()
    const channel = new Channel('story', log.read)
    const watcher = await join(channel)
    log.append(said('t1'))
    channel.emit({ type: 'phase_changed', phase: 'preparing' }, 1)
    expect(watcher.told).toEqual([])
    void channel.poll()
    await settled()
    const types = watcher.told.map((event) => typeof event === 'object' && event.type)
    expect(types).toEqual(['user_msg', 'turn_started', 'phase_changed', 'phase_changed'])
    expect(watcher.view().activity).toBe('preparing')
  })

  test('tells what was sent between two events of one reading between them', async () => {
    const log = new Log()
    const channel = new Channel('story', log.read)
    const watcher = await join(channel)
    log.append(said('t1'), replied('t1', 'm1', 1))
    channel.emit({ type: 'text_delta', turnId: 't1', messageId: 'm1', n: 1, part: 'p', delta: 'Once' }, 1)
    void channel.poll()
    await settled()
    const types = watcher.told.map((event) => typeof event === 'object' && event.type)
    expect(types.indexOf('text_delta')).toBeLessThan(types.indexOf('assistant_msg'))
    expect(types.indexOf('text_delta')).toBeGreaterThan(types.indexOf('user_msg'))
    expect(channel.view().drafts).toEqual([])
  })

  test('withdraws what was being written when its writer is gone', async () => {
    const log = new Log()
    log.append(said('t1'))
    const channel = new Channel('story', log.read)
    const watcher = await join(channel)
    const delta = { turnId: 't1', messageId: 'm1', n: 1, part: 'p', delta: 'Once' }
    channel.emit({ type: 'text_delta', ...delta }, 1)
    expect(watcher.view().drafts).toHaveLength(1)
    channel.withdraw(1)
    expect(watcher.view()).toEqual(channel.view())
    expect(channel.view().drafts).toEqual([])
    expect(watcher.told.at(-1)).toMatchObject({ type: 'message_discarded', messageId: 'm1' })
  })

  test('withdraws what was being written when another writer commits another message of its turn', async () => {
    const log = new Log()
    log.append(said('t1'))
    const channel = new Channel('story', log.read)
    const watcher = await join(channel)
    channel.emit({ type: 'text_delta', turnId: 't1', messageId: 'm1', n: 1, part: 'p', delta: 'Once' }, 1)
    log.append(replied('t1', 'm2', 1), {
      type: 'turn_ended',
      content: { turnId: 't1', status: 'completed', reason: null },
    })
    void channel.poll()
    await settled()
    const types = watcher.told.map((event) => typeof event === 'object' && event.type)
    expect(types.indexOf('message_discarded')).toBe(types.indexOf('assistant_msg') - 1)
    expect(types.filter((type) => type === 'message_discarded')).toHaveLength(1)
    expect(watcher.view()).toEqual(channel.view())
  })

  test('keeps what is live for who comes later, and forgets it with its message', async () => {
    const log = new Log()
    log.append(said('t1'))
    const channel = new Channel('story', log.read)
    const detach = channel.attach(() => emptyWorkingSet)
    channel.emit({ type: 'text_delta', turnId: 't1', messageId: 'm1', n: 1, part: 'p', delta: 'Once' }, 1)
    expect(channel.isUnused).toBe(false)
    const watcher = await join(channel)
    expect(watcher.view().drafts).toMatchObject([{ messageId: 'm1', n: 1 }])
    watcher.leave()
    channel.publish(log.append(replied('t1', 'm1', 1)))
    expect((await join(channel)).view().drafts).toEqual([])
    detach()
    detach()
    expect(channel.isUnused).toBe(false)
  })

  describe('begins with what its owner knows', () => {
    const silent = { appended: () => {}, replaced: () => {}, failed: () => {} }

    async function owned(...events: NewEvent[]) {
      const log = new Log()
      log.append(...events)
      const channel = new Channel('story', log.read)
      const { events: _, ...known } = await log.read(null)
      let workingSet: WorkingSet = known
      channel.attach(() => workingSet)
      const commit = (...more: NewEvent[]) => {
        const added = log.append(...more)
        workingSet = withEvents(workingSet, added)
        channel.publish(added)
      }
      const catchUp = async () => {
        const { events: __, ...read } = await log.read(workingSet)
        workingSet = read
      }
      return { log, channel, commit, catchUp }
    }

    test('and goes on with what it publishes, without reading', async () => {
      const { log, channel, commit } = await owned(said('t1'))
      channel.listen(silent)
      expect(channel.beginAt(1)).toBe(true)
      commit(ended('t1'), said('t2'))
      expect([channel.state?.lastSeq, log.reads]).toEqual([3, 1])
    })

    test('not where that is less than what was written', async () => {
      const { channel } = await owned(said('t1'))
      channel.listen(silent)
      expect(channel.beginAt(2)).toBe(false)
      expect(channel.state).toBeNull()
    })

    test('not while another listener has begun to read, which is told what is live then', async () => {
      const { channel } = await owned(said('t1'))
      channel.emit({ type: 'text_delta', turnId: 't1', messageId: 'm1', n: 1, part: 'p', delta: 'Once' }, 1)
      const joining = join(channel)
      channel.listen(silent)
      expect(channel.beginAt(1)).toBe(false)
      const watcher = await joining
      expect([watcher.told, watcher.view().drafts.length]).toEqual([[], 1])
    })

    test('not where no owner works', () => {
      const channel = new Channel('story', new Log().read)
      channel.listen(silent)
      expect(channel.beginAt(0)).toBe(false)
    })

    test('not where those who listen still see a log that is gone', async () => {
      const { log, channel } = await owned(said('t1'), ended('t1'))
      await join(channel)
      log.replace(said('t9'))
      const { events: _, ...anew } = await log.read(null)
      channel.attach(() => anew)
      expect(channel.beginAt(1)).toBe(false)
    })

    test('what another process appended meanwhile is read with the next hint', async () => {
      const { log, channel, commit, catchUp } = await owned(said('t1'))
      channel.listen(silent)
      log.append(said('t2'))
      expect(channel.beginAt(1)).toBe(true)
      await catchUp()
      commit(ended('t1'))
      expect(channel.state?.lastSeq).toBe(1)
      channel.hint(3)
      await settled()
      expect(channel.state?.lastSeq).toBe(3)
    })
  })

  test('is unused without listeners and without an owner', async () => {
    const channel = new Channel('story', new Log().read)
    expect(channel.isUnused).toBe(true)
    const detach = channel.attach(() => emptyWorkingSet)
    const { leave } = await join(channel)
    detach()
    expect(channel.isUnused).toBe(false)
    leave()
    expect(channel.isUnused).toBe(true)
    expect(channel.state).toBeNull()
  })

  test('tells when the log is another one', async () => {
    const log = new Log()
    log.append(said('t1'), replied('t1', 'm1', 1))
    const channel = new Channel('story', log.read)
    const watcher = await join(channel)
    log.replace(said('t9'))
    void channel.poll()
    await settled()
    expect(watcher.told).toEqual(['replaced'])
    expect(watcher.view().messages).toMatchObject([{ turnId: 't9' }])
    channel.publish(log.append(replied('t9', 'm9', 1)))
    expect(watcher.view().seq).toBe(2)
  })

  test('outlives a store that is away for a moment, and not one that cannot be read', async () => {
    const log = new Log()
    const channel = new Channel('story', log.read)
    const watcher = await join(channel)
    log.append(said('t1'))
    log.error = new StoreError('away')
    void channel.poll()
    await settled()
    expect(watcher.told).toEqual([])
    log.error = null
    void channel.poll()
    await settled()
    expect(watcher.seqs()).toEqual([1])
    log.append({ type: 'from_the_future', content: {} } as unknown as NewEvent)
    void channel.poll()
    await settled()
    expect(watcher.told.at(-1)).toBe('failed')
    expect(channel.isUnused).toBe(true)
  })
})

test('for any interleaving of an owner, others, and watchers who come and go, all see the same', {
  timeout: 60_000,
}, async () => {
  const numbers = (maxLength: number) => fc.noBias(fc.array(fc.nat(5_039), { minLength: 20, maxLength, size: 'max' }))
  let joins = 0
  await fc.assert(
    fc.asyncProperty(numbers(100), numbers(300), numbers(400), async (tape, liveTape, directions) => {
      const choices = new Choices(directions)
      const log = new Log()
      const channel = new Channel(filmedId, log.read)
      const watchers: Awaited<ReturnType<typeof join>>[] = []
      for (const [event] of film(tape, liveTape)) {
        if (!event) continue
        if (choices.below(6) === 0) {
          watchers.push(await join(channel))
          joins += 1
        }
        if (choices.below(12) === 0) watchers.shift()?.leave()
        if ('content' in event) {
          log.events.push(event)
          // The owner tells of what it writes; what others write is found.
          if (choices.below(3) > 0) channel.publish([event])
          else void channel.poll()
        } else {
          const { conversationId: _, seq, ...content } = event
          channel.emit(content, seq)
        }
        if (choices.below(3) === 0) await channel.refresh()
      }
      const last = await join(channel)
      const expected = viewOf(filmedId, foldEvents(log.events))
      for (const watcher of [...watchers, last]) expect(watcher.view()).toEqual(expected)
      for (const { seqs } of watchers) expect(seqs()).toEqual(seqs().map((_, index) => seqs()[0]! + index))
    }),
    { seed: 1, numRuns: 60 },
  )
  expect(joins).toBeGreaterThan(100)
})

test('the view of a state read elsewhere has what is live here', () => {
  const channel = new Channel('story', new Log().read)
  channel.emit({ type: 'text_delta', turnId: 't1', messageId: 'm1', n: 1, part: 'p', delta: 'Once' }, 1)
  expect(channel.viewOf(stateOf([said('t1')])).drafts).toHaveLength(1)
  expect(() => channel.view()).toThrow('before it was refreshed')
})
