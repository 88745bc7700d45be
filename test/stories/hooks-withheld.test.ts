import { expect, test } from 'vitest'
import { z } from 'zod'
import { halt, postHook, regenerate } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import type { Change } from '../../src/store/change.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { flakyStore } from './flaky-store.ts'
import { gate } from './gate.ts'
import { expectNothingTold, expectWithheld, never, onlyMessage, secret, startGuarded, thrown } from './guarded-agent.ts'
import { meddledStore } from './meddled-store.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { shapeOf } from './texts.ts'
import { until } from './until.ts'
import { untilShown } from './until-shown.ts'

overStores('a message that no hook has passed', (story) => {
  const failing: [name: string, run: () => never, reason: RegExp][] = [
    ['thrower', () => thrown(new Error('out of luck')), /^hook_failed: .*'thrower'.*out of luck/],
    ['sleeper', () => never() as never, /^hook_failed: .*'sleeper'.*longer than 30 ms/],
    ['liar', () => 'fine' as never, /^hook_failed: .*'liar'.*must return/],
  ]
  test.each(failing)(
    'because its hook failed (%s) is kept with its usage, and the turn fails',
    async (name, run, reason) => {
      const started = startGuarded(story, [postHook('first', () => undefined), postHook(name, run)])
      const outcome = await (await started.chat.send('go')).outcome()
      expect(outcome).toMatchObject({
        status: 'failed',
        reason: expect.stringMatching(reason),
        text: '',
        usage: { inputTokens: 10, outputTokens: 5 },
      })
      expect(started.commits.at(-1)?.events.map(({ type }) => type)).toEqual([
        'withheld',
        'assistant_msg',
        'turn_ended',
      ])
      expect(onlyMessage(await started.chat.events()).content).toMatchObject({
        status: 'complete',
        usage: { inputTokens: 10, outputTokens: 5 },
        parts: [
          { type: 'text', text: secret },
          { type: 'plain_call', name: 'act' },
        ],
      })
      await expectWithheld(started, name)
    },
  )

  test('because a hook halted is withheld, unless the hook says that it may be shown', async () => {
    const started = startGuarded(story, [postHook('strict', () => halt('not now'))])
    const outcome = await (await started.chat.send('go')).outcome()
    expect(outcome).toMatchObject({ status: 'halted', reason: 'not now', text: '', usage: { outputTokens: 5 } })
    await expectWithheld(started, 'strict')

    const shown = startGuarded(story, [postHook('mild', () => halt('enough', { show: true }))])
    expect(await (await shown.chat.send('go')).outcome()).toMatchObject({ status: 'halted', text: secret })
    expect(shapeOf(await shown.chat.events())).toEqual(['user_msg', 'assistant_msg complete', 'turn_ended halted'])
    expect(shown.runs).toEqual([])
  })

  test('because it was written anew too often is withheld each time', async () => {
    const model = scriptedModel(({ n }) => `${secret} ${n}`)
    const { chat, taken } = startGuarded(story, [postHook('never', () => regenerate('Again.'))], {
      model,
      maxRegenerations: 1,
    })
    const outcome = await (await chat.send('go')).outcome()
    expect(outcome).toMatchObject({
      status: 'halted',
      reason: 'max_regenerations',
      text: '',
      usage: { outputTokens: 10 },
    })
    expect(shapeOf(await chat.events())).toEqual([
      'user_msg',
      'withheld',
      'assistant_msg complete',
      'regeneration',
      'withheld',
      'assistant_msg complete',
      'turn_ended halted',
    ])
    expectNothingTold([await chat.view(), taken.map(({ state }) => state), outcome, model.calls])
  })

  test('because the turn was cancelled while it was written is withheld', async () => {
    const model = pacedModel()
    const started = startGuarded(story, [postHook('guard', () => undefined)], { model })
    await started.chat.send('go')
    const call = await model.called(1)
    call.say(secret)
    await untilShown(started.chat, secret)
    expect(await started.chat.cancel()).toMatchObject({ status: 'cancelled', text: '' })
    expect(shapeOf(await started.chat.events()).slice(-3)).toEqual([
      'withheld',
      'assistant_msg cancelled',
      'turn_ended cancelled',
    ])
    await expectWithheld(started, 'guard')
  })

  test('because the turn was cancelled while a hook judged it is withheld with its usage', async () => {
    const asked = gate()
    const guard = postHook('guard', () => {
      asked.open()
      return never()
    })
    const started = startGuarded(story, [guard], { hookTimeoutMs: 60_000 })
    const turn = await started.chat.send('go')
    await asked.opened
    await started.chat.cancel()
    expect(await turn.outcome()).toMatchObject({ status: 'cancelled', text: '', usage: { outputTokens: 5 } })
    await expectWithheld(started, 'guard')
  })

  test('because its stream was cut off, or ended with an error, is withheld', async () => {
    const cut = scriptedModel({ text: ['It is Xan', 'adu.'], cutAfter: 1 })
    const started = startGuarded(story, [postHook('guard', () => undefined)], { model: cut })
    const outcome = await (await started.chat.send('go')).outcome()
    expect(outcome).toMatchObject({ status: 'failed', reason: expect.stringMatching(/^model_interrupted/), text: '' })
    await expectWithheld(started, 'guard')

    const model = pacedModel()
    const broken = startGuarded(story, [postHook('guard', () => undefined)], { model })
    const turn = await broken.chat.send('go')
    const call = await model.called(1)
    call.say(secret)
    call.fail(new Error('gone'))
    expect(await turn.outcome()).toMatchObject({ status: 'failed', text: '' })
    await expectWithheld(broken, 'guard')
  })

  test('because its object does not fit was not shown to a hook, and is withheld', async () => {
    const seen: unknown[] = []
    const guard = postHook('guard', (turn) => void seen.push(turn.assistantMessage))
    const model = scriptedModel(({ n }) => `${secret} ${n}`)
    const { chat } = startGuarded(story, [guard], { model, tools: [], output: z.object({ n: z.number() }) })
    const outcome = await (await chat.send('go')).outcome()
    expect(outcome).toMatchObject({ status: 'failed', reason: 'invalid_object', text: '', usage: { outputTokens: 10 } })
    expect(seen).toEqual([])
    expectNothingTold([await chat.view(), await chat.history()])
  })

  test('has no object, in the log either', async () => {
    const model = scriptedModel({ object: { word: 'Xanadu' } })
    const output = z.object({ word: z.string() })
    const started = startGuarded(story, [postHook('strict', () => halt('no'))], { model, tools: [], output })
    expect(await (await started.chat.send('go')).outcome()).toMatchObject({ status: 'halted', text: '' })
    await expectWithheld(started, 'strict')
  })

  test('is judged again by the next process when the first died between its verdict and the commit', async () => {
    const store = story.openStore()
    const { store: mortal, kill } = mortalStore(store)
    let asked = 0
    const guard = postHook('guard', () => {
      asked += 1
      if (asked === 1) kill()
      return thrown(new Error('out of luck'))
    })
    const model = scriptedModel({ text: secret })
    const agent = defineAgent({ name: 'a', model, hooks: [guard] })
    const first = story.start({ agents: [agent], store: mortal, leaseMs: 60 }).conversation('c1', { agent: 'a' })
    await first.send('go')
    await until(() => asked === 1)
    const before = await store.streamEvents('c1')
    expect(before.map(({ type }) => type)).toEqual(['user_msg'])
    const next = story.start({ agents: [agent], store: story.reopen(store), pollMs: 10 })
    const chat = next.conversation('c1', { agent: 'a' }) as Conversation
    expect(await chat.outcome()).toMatchObject({ status: 'failed', text: '', usage: { outputTokens: 5 } })
    expect([asked, model.calls.length]).toEqual([2, 2])
    const log = await chat.events()
    expect(shapeOf(log)).toEqual(['user_msg', 'withheld', 'assistant_msg complete', 'turn_ended failed'])
    checkHistory(log)
    expectNothingTold(await chat.view())
  })

  test('is settled once when the outcome of its commit is unknown', async () => {
    const only = (_: string, change: Change) => change.events.some(({ type }) => type === 'withheld')
    const { store, failures } = flakyStore(story.openStore(), { method: 'commit', times: 1, isWritten: true, only })
    const guard = postHook('guard', () => thrown(new Error('out of luck')))
    const agent = defineAgent({ name: 'a', model: scriptedModel({ text: secret }), hooks: [guard] })
    const chat = story.start({ agents: [agent], store }).conversation('c1', { agent: 'a' })
    expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'failed', text: '' })
    expect(failures()).toBe(1)
    const log = await chat.events()
    expect(shapeOf(log)).toEqual(['user_msg', 'withheld', 'assistant_msg complete', 'turn_ended failed'])
  })

  test('stays withheld when a cancel comes before its commit; one that all hooks have passed is shown', async () => {
    for (const verdict of [halt('no'), undefined]) {
      const real = story.openStore()
      const store = meddledStore(real, async ({ events }) => {
        const message = events.find((event) => event.type === 'assistant_msg')
        if (!message || (await real.streamEvents('c1')).length > 1) return
        const { turnId } = message.content
        await real.appendEvent('c1', { type: 'cancel_requested', content: { turnId, who: 'ann' } })
      })
      const agent = defineAgent({
        name: 'a',
        model: scriptedModel({ text: secret }),
        hooks: [postHook('guard', () => verdict)],
      })
      const chat = story.start({ agents: [agent], store }).conversation('c1', { agent: 'a' })
      const outcome = await (await chat.send('go')).outcome()
      expect(outcome).toMatchObject({ status: 'cancelled', text: verdict ? '' : secret, usage: { outputTokens: 5 } })
      const log = await chat.events()
      expect(shapeOf(log)).toEqual([
        ...['user_msg', 'cancel_requested'],
        ...(verdict ? ['withheld'] : []),
        ...['assistant_msg cancelled', 'turn_ended cancelled'],
      ])
      checkHistory(log)
    }
  })
})
