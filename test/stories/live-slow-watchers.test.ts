import { expect, test } from 'vitest'
import { WatcherLaggedError } from '../../src/base/errors/runtime-errors.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { projectView, type WatchEvent } from '../../src/view/growing-view.ts'
import type { View } from '../../src/view/view.ts'
import { isIdle, joined } from './joined.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { untilShown } from './until-shown.ts'

overStores('a watcher that is too slow', (story) => {
  function start() {
    const model = pacedModel()
    const agent = defineAgent({ name: 'slow', model })
    return { model, chat: story.start({ agents: [agent] }).conversation('c1', { agent: 'slow' }) }
  }

  test('is dropped, told where it was, and can go on from there without gap or repeat', async () => {
    const { model, chat } = start()
    await chat.send('one')
    const call = await model.called(1)
    const watching = chat.watch({ maxBuffered: 5 })
    const first = await watching.next()
    let view = viewOf(first)
    for (let n = 0; n < 20; n++) call.say('.')
    await untilShown(chat, '.'.repeat(20))
    const error = await watching.next().catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(WatcherLaggedError)
    expect(error).toMatchObject({ code: 'watcher_lagged', retryable: true, after: 1 })
    expect(await watching.next()).toMatchObject({ done: true })

    call.answer('done')
    for await (const event of chat.watch({ after: (error as WatcherLaggedError).after })) {
      view = projectView(view, event)
      if (view.phase === 'idle') break
    }
    expect(view).toEqual(await chat.view())
  })

  test('is told the last event it was given, not the last that was there for it', async () => {
    const { model, chat } = start()
    const watching = chat.watch({ maxBuffered: 12 })
    await watching.next()
    await chat.send('one')
    expect(await watching.next()).toMatchObject({ value: { type: 'user_msg', seq: 1 } })
    await model.answer(1, 'first')
    await chat.outcome()
    for (let n = 2; n <= 4; n++) {
      await chat.send('more')
      await model.answer(n, 'yes')
      await chat.outcome()
    }
    let given = 1
    const error = await (async () => {
      try {
        for await (const event of watching) if ('content' in event) given = event.seq
        throw new Error('it was not dropped')
      } catch (caught) {
        return caught
      }
    })()
    expect(error).toMatchObject({ code: 'watcher_lagged', after: given })
  })

  test('does not slow down the others, nor the turn', async () => {
    const { model, chat } = start()
    const watchers = Array.from({ length: 3 }, () => chat.watch({ maxBuffered: 10 }))
    for (const watcher of watchers) await watcher.next()
    const quick = await joined(chat)
    await chat.send('one')
    const call = await model.called(1)
    for (let n = 0; n < 100; n++) call.say('.')
    call.finish()
    const view = await quick.until(isIdle)
    expect(view).toEqual(await chat.view())
    expect(quick.events.filter((event) => event.type === 'text_delta')).toHaveLength(100)
    for (const watcher of watchers) {
      await expect(drained(watcher)).rejects.toMatchObject({ code: 'watcher_lagged' })
    }
  })

  test('one that keeps up is never dropped, however much there is', async () => {
    const { model, chat } = start()
    const watching = chat.watch({ maxBuffered: 20 })
    await watching.next()
    await chat.send('one')
    const call = await model.called(1)
    let deltas = 0
    const reading = (async () => {
      for await (const event of watching) {
        if (event.type === 'text_delta') {
          deltas += 1
          if (deltas < 100) call.say('.')
          else call.finish()
        }
        if (event.type === 'turn_completed') return
      }
    })()
    call.say('.')
    await reading
    expect(deltas).toBe(100)
  })
})

function viewOf({ value, done }: IteratorResult<WatchEvent, void>): View {
  if (done || value.type !== 'snapshot') throw new Error('a watcher begins with a snapshot')
  return value.view
}

async function drained(watcher: AsyncIterable<WatchEvent>): Promise<void> {
  for await (const _ of watcher);
}
