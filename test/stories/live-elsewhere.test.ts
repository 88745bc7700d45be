import { expect, test } from 'vitest'
import { z } from 'zod'
import { postHook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { type LiveBus, processLiveBus } from '../../src/store/live-bus.ts'
import type { View } from '../../src/view/view.ts'
import { gate } from './gate.ts'
import { isIdle, joined } from './joined.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { until } from './until.ts'

type Agents = Parameters<StoryContext['start']>[0]['agents']

/** Nodes on the same data. On Postgres by the bus of its store; elsewhere by one that the test gives them. */
function nodesOf(story: StoryContext) {
  const store = story.openStore()
  const bus = story.name === 'postgres' ? {} : { liveBus: processLiveBus() }
  return (agents: Agents, more: Partial<Parameters<StoryContext['start']>[0]> = {}) =>
    story.start({ agents, store: story.reopen(store), pollMs: 50, ...bus, ...more })
}

function drafted({ drafts }: View): string {
  return drafts.flatMap(({ parts }) => parts.map(({ text }) => text)).join('|')
}

overStores('what is live at another node', (story) => {
  test('is shown as where it is written: text, reasoning, tool input, progress and activity', async () => {
    const start = nodesOf(story)
    const isSeen = gate()
    const look = defineTool({
      name: 'look',
      description: 'Look',
      input: z.object({ at: z.string() }),
      run: async (_, turn) => {
        turn.reportProgress({ percent: 50 })
        await isSeen.opened
        return 'a hat'
      },
    })
    const model = pacedModel()
    const agents = [defineAgent({ name: 'guide', model, tools: [look] })]
    const here = start(agents).conversation('c1', { agent: 'guide' })
    const elsewhere = start(agents, { work: false }).conversation('c1', { agent: 'guide' })
    const watcher = await joined(elsewhere)
    await here.send('what is it?')
    const call = await model.called(1)
    call.stream({ type: 'reasoning-delta', id: 'thought', delta: 'hm' })
    call.say('Let ')
    call.say('me look.')
    call.stream({ type: 'tool-input-start', id: 'i1', toolName: 'look' })
    call.stream({ type: 'tool-input-delta', id: 'i1', delta: '{"at":' })
    const all = 'hm|Let me look.|{"at":'
    let isCalled = false
    const seen = await watcher.until((_, view) => {
      // What is streamed before it is seen must not be committed.
      if (!isCalled && drafted(view) === all) {
        isCalled = true
        call.call('look', { at: 'it' })
        call.finish()
      }
      return isCalled && Object.keys(view.progress).length > 0
    })
    expect(Object.values(seen.progress)).toEqual([{ percent: 50 }])
    const states = watcher.events.flatMap((event) => (event.type === 'phase_changed' ? [event.phase] : []))
    expect(states.filter((state) => state !== 'preparing')).toEqual(['running', 'streaming', 'executing_tools'])
    isSeen.open()
    ;(await model.called(2)).answer('A hat.')
    await here.turn(seen.messages[0]!.turnId).outcome()
  })

  test('is in the first view of a reader who comes in mid-message, and goes on from there', async () => {
    const start = nodesOf(story)
    const model = pacedModel()
    const agents = [defineAgent({ name: 'guide', model })]
    const here = start(agents).conversation('c1', { agent: 'guide' })
    const turn = await here.send('hi')
    const call = await model.called(1)
    call.say('One, ')
    call.say('two, ')
    const node = start(agents, { work: false })
    const elsewhere = node.conversation('c1', { agent: 'guide' })
    await until(async () => drafted(await here.view()) === 'One, two, ')
    await until(async () => drafted(await elsewhere.view()) === 'One, two, ')
    const watcher = await joined(elsewhere)
    const streamed: string[] = []
    const reading = (async () => {
      for await (const text of elsewhere.turn(turn.turnId).textStream) streamed.push(text)
    })()
    call.say('three.')
    await watcher.until((_, view) => drafted(view) === 'One, two, three.')
    call.finish()
    await reading
    expect(streamed.join('')).toBe('One, two, three.')
    expect((await elsewhere.view()).messages.at(-1)).toMatchObject({ parts: [{ text: 'One, two, three.' }] })
  })

  test('a stream that is tried again takes its text back there too', async () => {
    const start = nodesOf(story)
    const model = pacedModel()
    const agents = [defineAgent({ name: 'guide', model, retry: { maxAttempts: 3, baseMs: 1 } })]
    const here = start(agents).conversation('c1', { agent: 'guide' })
    const elsewhere = start(agents, { work: false }).conversation('c1', { agent: 'guide' })
    const watcher = await joined(elsewhere)
    const shown: string[] = []
    await here.send('hi')
    const call = await model.called(1)
    call.say('A first ')
    const done = watcher.until((event, view) => {
      if (shown.at(-1) !== drafted(view)) shown.push(drafted(view))
      return isIdle(event, view)
    })
    await until(() => shown.includes('A first '))
    call.fail(new TypeError('fetch failed'))
    const again = await model.called(2)
    again.say('A second ')
    await until(() => shown.includes('A second '))
    again.answer('one.')
    await done
    expect(shown.filter((text) => text.includes('first') && text.includes('second'))).toEqual([])
  })

  test('text that its hooks have not judged is not shown anywhere', async () => {
    const start = nodesOf(story)
    const model = pacedModel()
    const isJudged = gate()
    const judge = postHook('judge', () => isJudged.opened)
    const agents = [defineAgent({ name: 'guide', model, hooks: [judge], reveal: 'judged' })]
    const here = start(agents).conversation('c1', { agent: 'guide' })
    const elsewhere = start(agents, { work: false }).conversation('c1', { agent: 'guide' })
    const watcher = await joined(elsewhere)
    await here.send('hi')
    ;(await model.called(1)).answer('A secret.')
    await until(async () => (await elsewhere.view()).activity === 'streaming')
    isJudged.open()
    await watcher.until(isIdle)
    expect(watcher.events.filter((event) => 'delta' in event)).toEqual([])
  })

  test('what nodes with a secret send cannot be read without it', async () => {
    const sent: string[] = []
    const bus = processLiveBus()
    const liveBus: LiveBus = {
      join: (receiver) => {
        const link = bus.join(receiver)
        const send = (batch: Parameters<typeof link.send>[0]) => {
          sent.push(...batch.map(({ text }) => text))
          return link.send(batch)
        }
        return { ...link, send }
      },
    }
    const start = nodesOf(story)
    const model = pacedModel()
    const agents = [defineAgent({ name: 'guide', model })]
    const more = { liveBus, secret: 'a secret of at least thirty-two bytes' }
    const here = start(agents, more).conversation('c1', { agent: 'guide' })
    const elsewhere = start(agents, { ...more, work: false }).conversation('c1', { agent: 'guide' })
    const watcher = await joined(elsewhere)
    await here.send('hi')
    const call = await model.called(1)
    call.say('A hat')
    await watcher.until((_, view) => drafted(view) === 'A hat')
    expect(sent.filter((text) => text.includes('A hat') || text.includes('"c1"'))).toEqual([])
    call.finish()
  })

  test('a view of a turn that no node drives waits for an owner once, and not each time', async () => {
    const start = nodesOf(story)
    const agents = [defineAgent({ name: 'guide', model: pacedModel() })]
    const node = start(agents, { work: false })
    const chat = node.conversation('c1', { agent: 'guide' })
    await chat.send('hi')
    await chat.view()
    const begun = performance.now()
    for (let n = 0; n < 20; n++) await chat.view()
    expect(performance.now() - begun).toBeLessThan(20 * 400)
  })

  test('a node without a bus shows each message when it is committed', async () => {
    const start = nodesOf(story)
    const model = pacedModel()
    const agents = [defineAgent({ name: 'guide', model })]
    const here = start(agents).conversation('c1', { agent: 'guide' })
    const elsewhere = start(agents, { work: false, liveBus: null }).conversation('c1', { agent: 'guide' })
    const watcher = await joined(elsewhere)
    await here.send('hi')
    const call = await model.called(1)
    call.say('A ')
    call.answer('hat.')
    await watcher.until(isIdle)
    expect(watcher.events.filter((event) => 'delta' in event)).toEqual([])
    expect((await elsewhere.view()).messages.at(-1)).toMatchObject({ parts: [{ text: 'A hat.' }] })
  })
})
