import { expect, test } from 'vitest'
import { z } from 'zod'
import { halt, preHook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { projectView } from '../../src/view/growing-view.ts'
import { gate } from './gate.ts'
import { isIdle, joined } from './joined.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { onlyPendingOf } from './pending-of.ts'
import { until } from './until.ts'
import { untilShown } from './until-shown.ts'

overStores('watching a conversation', (story) => {
  test('tells a turn from its beginning to its end, each event in its place', async () => {
    const look = defineTool({
      name: 'look',
      description: 'Look',
      input: z.object({ at: z.string() }),
      run: (_, turn) => {
        turn.reportProgress({ percent: 50 })
        return 'a hat'
      },
    })
    const model = scriptedModel([
      { reasoning: 'hm', text: ['Let ', 'me look.'], calls: [{ tool: 'look', args: { at: 'it' } }] },
      'A hat.',
    ])
    const agent = defineAgent({ name: 'guide', model, tools: [look] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'guide' })
    const watcher = await joined(chat)
    await chat.send('what is it?')
    const view = await watcher.until(isIdle)
    const { events } = watcher
    const live = events.filter((event) => !('content' in event) && event.type !== 'snapshot')
    expect(live.map((event) => event.type)).toEqual([
      'turn_started',
      'phase_changed',
      'phase_changed',
      'phase_changed',
      'reasoning_delta',
      'text_delta',
      'text_delta',
      'tool_input_delta',
      'message_completed',
      'tool_call_started',
      'phase_changed',
      'tool_progress',
      'tool_call_resolved',
      'phase_changed',
      'phase_changed',
      'text_delta',
      'message_completed',
      'turn_completed',
      'phase_changed',
    ])
    const states = live.flatMap((event) => (event.type === 'phase_changed' ? [event.phase] : []))
    expect(states).toEqual(['running', 'preparing', 'streaming', 'executing_tools', 'preparing', 'streaming', 'idle'])
    const log = events.filter((event) => 'content' in event)
    expect(log.map((event) => event.seq)).toEqual(log.map((_, index) => index + 1))
    expect(view).toEqual(await chat.view())
  })

  test('numbers the deltas of each message from one, and each carries its place in the log', async () => {
    const model = scriptedModel(({ n }) => ({ text: ['a', 'b', 'c'].map((word) => `${word}${n}`) }))
    const agent = defineAgent({ name: 'guide', model })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'guide' })
    await (await chat.send('one')).outcome()
    const watcher = await joined(chat)
    await chat.send('two')
    await watcher.until(isIdle)
    const deltas = watcher.events.filter((event) => event.type === 'text_delta')
    expect(deltas.map(({ n, delta, seq }) => [n, delta, seq])).toEqual([
      [1, 'a2', 4],
      [2, 'b2', 4],
      [3, 'c2', 4],
    ])
  })

  test('begun in the middle of a message shows what is there, and goes on without gap or repeat', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'slow', model })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'slow' })
    await chat.send('tell me')
    const call = await model.called(1)
    const watchers = []
    for (const word of ['Once ', 'upon ', 'a ', 'time']) {
      watchers.push(await joined(chat))
      call.say(word)
      await untilShown(chat, 'Once upon a time'.slice(0, 'Once upon a time'.indexOf(word) + word.length))
    }
    call.finish()
    for (const watcher of watchers) {
      expect(await watcher.until(isIdle)).toEqual(await chat.view())
      const [snapshot, ...rest] = watcher.events
      const shown = snapshot?.type === 'snapshot' ? snapshot.view.drafts.flatMap(({ parts }) => parts) : []
      const said = rest.flatMap((event) => (event.type === 'text_delta' ? [event.delta] : []))
      expect([...shown.map(({ text }) => text), ...said].join('')).toBe('Once upon a time')
    }
  })

  test('begun while a tool runs shows its latest progress', async () => {
    const isDone = gate()
    const reported = gate()
    const slow = defineTool({
      name: 'slow',
      description: 'Slow',
      input: z.object({}),
      run: async (_, turn) => {
        for (const percent of [10, 20]) turn.reportProgress({ percent })
        reported.open()
        await isDone.opened
      },
    })
    const model = scriptedModel([{ calls: [{ tool: 'slow', args: {} }] }, 'Done.'])
    const agent = defineAgent({ name: 'worker', model, tools: [slow] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'worker' })
    await chat.send('go')
    await reported.opened
    const watcher = await joined(chat)
    expect(watcher.events[0]).toMatchObject({ view: { activity: 'executing_tools' } })
    const progress = watcher.events[0]?.type === 'snapshot' ? watcher.events[0].view.progress : {}
    expect(Object.values(progress)).toEqual([{ percent: 20 }])
    isDone.open()
    expect(await watcher.until(isIdle)).toMatchObject({ progress: {}, activity: null })
  })

  test('again, after others have left, still tells what is live', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'slow', model })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'slow' })
    await chat.send('tell me')
    const call = await model.called(1)
    // A watcher leaves before the model has said anything.
    await (await joined(chat)).until(() => true)
    const watcher = await joined(chat)
    call.answer('Once')
    await watcher.until(isIdle)
    expect(watcher.events.filter((event) => event.type === 'text_delta')).toHaveLength(1)
  })

  test('from a position on gives what came after it, once', async () => {
    const model = scriptedModel(({ n }) => `answer ${n}`)
    const agent = defineAgent({ name: 'guide', model })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'guide' })
    await (await chat.send('one')).outcome()
    let view = await (await joined(chat)).until(() => true)
    await (await chat.send('two')).outcome()
    const seqs: number[] = []
    for await (const event of chat.watch({ after: 2 })) {
      if ('content' in event) seqs.push(event.seq)
      view = projectView(view, event)
      // What comes after what was there is live.
      if (view.seq === 6 && seqs.at(-1) === 6 && 'content' in event) await chat.send('three')
      if (view.seq === 9) break
    }
    expect(seqs).toEqual([3, 4, 5, 6, 7, 8, 9])
    expect(view).toEqual(await chat.view())
  })

  test('from a position on, in the middle of a message, shows what is being written', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'slow', model })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'slow' })
    await chat.send('tell me')
    const call = await model.called(1)
    call.say('Once ')
    await untilShown(chat, 'Once ')
    const seqs: number[] = []
    const texts: string[] = []
    for await (const event of chat.watch({ after: 0 })) {
      if ('content' in event) seqs.push(event.seq)
      if (event.type === 'text_delta') texts.push(event.delta)
      if (event.type === 'snapshot') {
        texts.push(...event.view.drafts.flatMap(({ parts }) => parts.map((part) => part.text)))
        call.answer('upon')
      }
      if (event.type === 'turn_completed') break
    }
    expect(seqs).toEqual([1, 2, 3])
    expect(texts).toEqual(['Once ', 'upon'])
  })

  test('tells of calls that wait, are answered, and end badly', async () => {
    const act = defineTool({
      name: 'act',
      description: 'Act',
      input: z.object({}),
      approval: 'required',
      run: () => {
        throw new Error('broken')
      },
    })
    const model = scriptedModel([{ calls: [{ tool: 'act', args: {} }] }, 'Sorry.'])
    const agent = defineAgent({ name: 'worker', model, tools: [act] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'worker' })
    const turn = await chat.send('go')
    const call = await onlyPendingOf(turn)
    const watcher = await joined(chat)
    const waiting = { phase: 'waiting', activity: null, pending: [{ tool: 'act' }] }
    expect(watcher.events[0]).toMatchObject({ view: waiting })
    await chat.approve(call)
    await watcher.until(isIdle)
    const told = watcher.events.flatMap((event) => ('callId' in event ? [event.type] : []))
    expect(told).toEqual(['tool_call_started', 'tool_call_errored'])
    expect(watcher.events.find((event) => event.type === 'tool_call_errored')).toMatchObject({ error: 'broken' })
  })

  test('tells how turns end otherwise: failed, halted, cancelled', async () => {
    const model = pacedModel()
    const strict = preHook('strict', (turn) =>
      JSON.stringify(turn.userMessage).includes('forbidden') ? halt('not that') : undefined,
    )
    const agent = defineAgent({ name: 'guide', model, hooks: [strict], retry: { maxAttempts: 1 } })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'guide' })
    const watcher = await joined(chat)
    const failing = await chat.send('one')
    const call = await model.called(1)
    call.say('Once')
    call.fail(new Error('cut'))
    await failing.outcome()
    await (await chat.send('forbidden')).outcome()
    await chat.send('three')
    await model.called(2)
    await chat.cancel()
    await watcher.until((event) => event.type === 'cancelled')
    const ends = watcher.events.filter((event) => /^turn_(completed|failed|halted)$|^cancelled$/.test(event.type))
    expect(ends).toMatchObject([
      { type: 'turn_failed', reason: expect.stringContaining('model_interrupted') },
      { type: 'turn_halted', reason: 'not that' },
      { type: 'cancelled' },
    ])
  })

  test('ends when the watcher, its signal or the runtime says so', async () => {
    const agent = defineAgent({ name: 'guide', model: scriptedModel('fine') })
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'guide' })
    const controller = new AbortController()
    const bySignal = (async () => {
      for await (const _ of chat.watch({ signal: controller.signal }));
    })()
    const byRuntime = (async () => {
      for await (const _ of chat.watch());
    })()
    controller.abort()
    await bySignal
    await runtime.close()
    await byRuntime
    for await (const _ of chat.watch()) throw new Error('nothing comes from a closed runtime')
  })

  test('shows a conversation that was deleted as empty, and its successor from the beginning', async () => {
    const model = scriptedModel(({ n }) => `answer ${n}`)
    const agent = defineAgent({ name: 'guide', model })
    const store = story.openStore()
    const chat = story.start({ agents: [agent], store, pollMs: 10 }).conversation('c1', { agent: 'guide' })
    await (await chat.send('one')).outcome()
    const watcher = await joined(chat)
    // By another process, which does not tell.
    await story.reopen(store).deleteConversation('c1')
    await until(async () => (await chat.events()).length === 0)
    const empty = watcher.until((event) => event.type === 'snapshot' && event.view.seq === 0)
    expect(await empty).toMatchObject({ messages: [], phase: 'idle' })
    const next = await joined(chat)
    await chat.send('two')
    expect(await next.until(isIdle)).toEqual(await chat.view())
    expect(next.events.flatMap((event) => ('content' in event ? [event.seq] : []))).toEqual([1, 2, 3])
  })
})
