import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { NewEvent } from '../../src/log/events.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { gate } from './gate.ts'
import { meddledStore } from './meddled-store.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { linesOf, shapeOf } from './texts.ts'
import { toolResults } from './tool-results.ts'
import { until } from './until.ts'
import { untilShown } from './until-shown.ts'

function said(turnId: string): NewEvent {
  return {
    type: 'user_msg',
    content: { turnId, message: { parts: [{ type: 'text', text: turnId }] }, options: {}, who: 'bob' },
  }
}

overStores('what others write while a process works on a conversation', (story) => {
  function worker() {
    const runs: string[] = []
    const look = defineTool({
      name: 'look',
      description: 'Look',
      input: z.object({}),
      run: (_, turn) => {
        runs.push(turn.callId!)
        return 'a hat'
      },
    })
    const model = scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === 'tool'
        ? 'Done.'
        : {
            calls: [
              { tool: 'look', args: {} },
              { tool: 'look', args: {} },
            ],
          },
    )
    return { agent: defineAgent({ name: 'worker', model, tools: [look] }), model, runs }
  }

  test('before every single commit: nothing is run again, nothing is asked again, and every turn is answered', async () => {
    const { agent, model, runs } = worker()
    const store = story.openStore()
    let turns = 1
    let attempts = 0
    const meddled = meddledStore(store, async () => {
      attempts += 1
      // Each commit is tried twice: the first time another writer was faster.
      if (attempts % 2 === 0) return
      if (turns < 4) turns += 1
      const stray: NewEvent = { type: 'cancel_requested', content: { turnId: 'nobody', who: 'bob' } }
      await store.commit('c1', { events: [attempts < 6 ? said(`t${turns}`) : stray] })
    })
    const chat = story.start({ agents: [agent], store: meddled }).conversation('c1', { agent: 'worker' })
    const turn = await chat.send('go')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    for (let n = 2; n <= 4; n++) expect(await chat.turn(`t${n}`).outcome()).toMatchObject({ status: 'completed' })
    expect(attempts).toBeGreaterThan(20)
    expect(model.calls).toHaveLength(8)
    expect(new Set(runs).size).toBe(8)
    expect(runs).toHaveLength(8)
    checkHistory(await chat.events())
  })

  test('a cancel before each of its commits in turn: what had run is told, and the turn ends cancelled once', async () => {
    for (let at = 1; at <= 3; at++) {
      const { agent, runs } = worker()
      const store = story.openStore()
      let commits = 0
      const { turnId } = await story
        .start({ agents: [agent], store, work: false })
        .conversation('c1', { agent: 'worker' })
        .send('go')
      const meddled = meddledStore(store, async () => {
        commits += 1
        if (commits !== at) return
        await store.commit('c1', { events: [{ type: 'cancel_requested', content: { turnId, who: 'bob' } }] })
      })
      const chat = story.start({ agents: [agent], store: meddled }).conversation('c1')
      expect(await chat.turn(turnId).outcome()).toMatchObject({ status: 'cancelled' })
      const events = await chat.events()
      expect(runs).toHaveLength(events.filter((event) => event.type === 'tool_started').length)
      checkHistory(events)
    }
  })

  test('messages to the turn before each of its commits: each is read before the turn ends', async () => {
    for (let at = 1; at <= 3; at++) {
      const { agent, model, runs } = worker()
      const store = story.openStore()
      const api = story.start({ agents: [agent], store, work: false }).conversation('c1', { agent: 'worker' })
      const { turnId } = await api.send('go')
      let commits = 0
      const meddled = meddledStore(store, async () => {
        commits += 1
        if (commits === at) await api.send('and this', { whenBusy: 'steer' })
      })
      story.start({ agents: [agent], store: meddled })
      const outcome = await api.turn(turnId).outcome()
      expect(outcome).toMatchObject({ status: 'completed', text: 'Done.' })
      await api.outcome()
      expect(model.calls.some(({ prompt }) => linesOf(prompt).includes('user: and this'))).toBe(true)
      expect(new Set(runs).size).toBe(runs.length)
      checkHistory(await api.events())
    }
  })

  test('while the model speaks: a queued message waits, a cancel stops it', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'slow', model })
    const store = story.openStore()
    const chat = story.start({ agents: [agent], store }).conversation('c1', { agent: 'slow' })
    const elsewhere = story.reopen(store)
    const { turnId } = await chat.send('one')
    const call = await model.called(1)
    call.say('Once')
    await untilShown(chat, 'Once')
    await elsewhere.commit('c1', { events: [said('t2')] })
    await until(async () => (await chat.view()).messages.length === 2)
    expect(call.signal?.aborted).toBe(false)
    call.say(' upon')
    await untilShown(chat, 'Once upon')
    await elsewhere.commit('c1', { events: [{ type: 'cancel_requested', content: { turnId, who: 'bob' } }] })
    expect(await chat.turn(turnId).outcome()).toMatchObject({ status: 'cancelled', text: 'Once upon' })
    await model.answer(2, 'second')
    expect(await chat.turn('t2').outcome()).toMatchObject({ status: 'completed', text: 'second' })
    checkHistory(await chat.events())
  })

  test('an answer while another call of the same message runs: it is taken at once, and both results are read together', async () => {
    const isDone = gate<string>()
    const runs: string[] = []
    const slow = defineTool({ name: 'slow', description: 'Slow', input: z.object({}), run: () => isDone.opened })
    const pay = defineTool({
      name: 'pay',
      description: 'Pay',
      input: z.object({}),
      approval: 'required',
      run: () => {
        runs.push('pay')
        return 'paid'
      },
    })
    const model = scriptedModel(({ n }) =>
      n === 1 ? { calls: ['slow', 'pay'].map((tool) => ({ tool, args: {} })) } : 'Done.',
    )
    const agent = defineAgent({ name: 'clerk', model, tools: [slow, pay] })
    const store = story.openStore()
    const chat = story.start({ agents: [agent], store }).conversation('c1', { agent: 'clerk' })
    const turn = await chat.send('go')
    const view = await until(async () => {
      const seen = await chat.view()
      return seen.pending.length === 1 && seen
    })
    // Something still runs, so no outcome is waiting yet.
    expect(view.phase).toBe('running')
    const elsewhere = story.start({ agents: [agent], store: story.reopen(store), work: false }).conversation('c1')
    expect(await elsewhere.approve(view.pending[0]!)).toEqual({ accepted: true })
    await until(() => runs.length === 1)
    expect(model.calls).toHaveLength(1)
    isDone.open('slow and steady')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(toolResults(model, 2).map(([tool, output]) => [tool, output.type === 'text' && output.value])).toEqual([
      ['slow', 'slow and steady'],
      ['pay', 'paid'],
    ])
    checkHistory(await chat.events())
    expect(shapeOf(await chat.events())).toContain('resolution resolved')
  })
})
