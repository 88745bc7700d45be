import { expect, test } from 'vitest'
import { z } from 'zod'
import { foldView, type LogEvent, type View } from '../../src/client/index.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
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
  return last.role === 'user' && JSON.stringify(last).includes('pay') ? { calls: [{ tool: 'pay', args: {} }] } : 'Yes.'
})
const agents = [defineAgent({ name: 'helper', model, tools: [pay] })] as const

/** Without what a copy has its own of: its id, and those of calls that are open. */
function comparable({ conversationId, log: _, ...view }: View): unknown {
  const text = JSON.stringify(view).replaceAll(`"${conversationId}"`, '"c"')
  return JSON.parse(text.replaceAll(/"callId":"[^"]+"/g, '"callId":"call"'))
}

overStores('the view of an earlier moment', (story) => {
  test('is what a fork at that event shows, with retried, cancelled and replaced turns, and folds on to the next', async () => {
    const runtime = story.start({ agents })
    const chat = runtime.conversation('chat', { agent: 'helper' })
    const first = await chat.send('hello')
    await first.outcome()
    await (await chat.retry(first.turnId)).outcome()
    const paying = await chat.send('pay')
    const [item] = await pendingOf(paying)
    await chat.approve(item!)
    await paying.outcome()
    await pendingOf(await chat.send('pay again'))
    await chat.cancel()
    await chat.note('rated', 5)
    const last = await chat.send('bye')
    await last.outcome()
    await (await chat.send('good bye', { replaces: last.turnId })).outcome()
    await chat.rename('Lamps')
    const events = await chat.events({ limit: 1_000 })
    const end = events.at(-1)!.seq
    let folded = await chat.view({ at: 0 })
    expect(folded).toMatchObject({ seq: 0, messages: [] })
    let compared = 0
    for (let at = 1; at <= end; at++) {
      const view = await chat.view({ at })
      folded = foldView(folded, events.slice(at - 1, at))
      expect(folded).toEqual(view)
      expect(foldView(await chat.view({ at: 0 }), events.slice(0, at))).toEqual(view)
      const fork = await chat.fork({ at })
      const shown = await fork.view()
      // A fork closes what was running in its source.
      if (shown.seq !== at) continue
      expect(comparable(shown)).toEqual(comparable(view))
      compared += 1
    }
    expect(compared).toBeGreaterThan(15)
    expect((await chat.view({ at: end })).messages).toEqual((await chat.view()).messages)
    await expect(chat.view({ at: end + 1 })).rejects.toMatchObject({ code: 'invalid_argument' })
    await expect(chat.view({ at: -1 })).rejects.toMatchObject({ code: 'invalid_argument' })
  })

  test('begins after the newest summary before it, as a fork does', async () => {
    const runtime = story.start({ agents })
    const chat = runtime.conversation('chat', { agent: 'helper' })
    for (const text of ['one', 'two', 'three']) await (await chat.send(text)).outcome()
    const ends = (await chat.events()).filter(({ type }) => type === 'turn_ended').map(({ seq }: LogEvent) => seq)
    const { log } = await chat.view({ at: ends[0]! })
    const base = { ...log, turns: [] }
    await runtime.store.putSummary('chat', { fromSeq: 1, toSeq: ends[0]!, content: 'one', version: 1, base })
    const view = await chat.view({ at: ends[1]! })
    const fork = await (await chat.fork({ at: ends[1]! })).view()
    expect(comparable(view)).toEqual(comparable(fork))
    expect(view.before).not.toBeNull()
  })
})
