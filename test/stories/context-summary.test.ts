import { expect, test } from 'vitest'
import type { Logger } from '../../src/base/logger.ts'
import { foldEvents } from '../../src/log/fold-events.ts'
import { nextStep } from '../../src/log/next-step.ts'
import { baseOf } from '../../src/log/state.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { expectStablePrefix } from '../../src/testing/validate-prompt.ts'
import { lookupAgent, talk } from './context-agent.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { slowStore } from './slow-store.ts'
import { linesOf } from './texts.ts'
import { until } from './until.ts'

const heading = 'user: Summary of the conversation so far'

overStores('summing up', (story) => {
  test('happens beside the turns: none waits for it', async () => {
    const isAsked = gate()
    const maySayIt = gate()
    const summaries = scriptedModel(async () => {
      isAsked.open()
      await maySayIt.opened
      return 'They looked things up.'
    })
    const { agent } = lookupAgent({ context: { summarise: { model: summaries } } })
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'lookup' })
    await talk(chat, 20)
    await isAsked.opened
    await talk(chat, 5)
    expect(await runtime.store.latestSummary('c1')).toBeNull()
    maySayIt.open()
    const summary = await until(() => runtime.store.latestSummary('c1'))
    expect(summary).toMatchObject({ fromSeq: 1, version: 1, content: 'They looked things up.' })
  })

  test('stands for the oldest turns, up to the end of one, each time for more of them', async () => {
    const summaries = scriptedModel(({ n }) => `They looked up ${n}.`)
    const { agent, model } = lookupAgent({ context: { summarise: { model: summaries, instructions: 'Sum it up.' } } })
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'lookup' })
    await talk(chat, 60)
    await runtime.close()
    const events = await runtime.store.streamEvents('c1')
    const latest = (await runtime.store.latestSummary('c1'))!
    expect(latest.version).toBe(summaries.calls.length)
    expect(summaries.calls.length).toBeGreaterThanOrEqual(2)
    expect(events[latest.toSeq - 1]?.type).toBe('turn_ended')
    const asked = summaries.calls.map(({ prompt }) => linesOf(prompt))
    expect(asked[0]![0]).toBe('system: Sum it up.')
    expect(asked[0]![1]).toContain('User: Please look up number 1.')
    expect(asked[0]![1]).toContain('Tool look({"n":1}): {"ok":true,"result":"1: word')
    expect(asked[0]![1]).not.toContain('Summary so far')
    expect(asked[1]![1]).toContain('Summary so far:\nThey looked up 1.')
    expect(asked[1]![1]).not.toContain('User: Please look up number 1.')
    const shown = model.calls.map(({ prompt }) => linesOf(prompt).find((line) => line.startsWith(heading)))
    expect(new Set(shown.filter((line) => line?.includes('They looked up'))).size).toBeGreaterThanOrEqual(2)
    expectStablePrefix(model.calls)
  })

  test('lets another node begin after it, and decide as if it had read everything', async () => {
    const { agent, model } = lookupAgent({ context: { summarise: { model: scriptedModel('They looked things up.') } } })
    const store = story.openStore()
    const first = story.start({ agents: [agent], store })
    await talk(first.conversation('c1', { agent: 'lookup' }), 40)
    await first.close()
    const { summary, events } = await store.loadSince('c1')
    const whole = await store.streamEvents('c1')
    expect(summary!.base).toEqual(baseOf(foldEvents(whole.slice(0, summary!.toSeq))))
    const revived = foldEvents(events, summary!.base!)
    expect(baseOf(revived)).toEqual(baseOf(foldEvents(whole)))
    expect(nextStep(revived, new Set())).toEqual(nextStep(foldEvents(whole), new Set()))
    const calls = model.calls.length
    const second = story.start({ agents: [agent], store: story.reopen(store) })
    await talk(second.conversation('c1', { agent: 'lookup' }), 1, 41)
    const lines = linesOf(model.calls[calls]!.prompt)
    expect(lines[0]).toBe(`${heading}, in place of its earlier messages:\n\nThey looked things up.`)
    expect(lines.at(-1)).toBe('user: Please look up number 41.')
    expect(lines.join('\n')).not.toContain('number 1.')
  })

  test('that fails changes nothing, is logged, and is tried again', async () => {
    const warnings: string[] = []
    const logger: Logger = { debug: () => {}, info: () => {}, warn: (text) => warnings.push(text), error: () => {} }
    const summaries = scriptedModel(({ n }) => (n <= 2 ? { error: { status: 400 } } : 'They looked things up.'))
    const { agent } = lookupAgent({ context: { summarise: { model: summaries } } })
    const runtime = story.start({ agents: [agent], logger })
    await talk(runtime.conversation('c1', { agent: 'lookup' }), 40)
    await runtime.close()
    expect(warnings).toContain('no summary could be made; trying again later')
    const version = summaries.calls.length - 2
    expect(await runtime.store.latestSummary('c1')).toMatchObject({ version, content: 'They looked things up.' })
  })

  test('that always fails is tried ever more rarely, and the turns go on', async () => {
    const warnings: string[] = []
    const logger: Logger = { debug: () => {}, info: () => {}, warn: (text) => warnings.push(text), error: () => {} }
    const summaries = scriptedModel({ error: { status: 400 } })
    const { agent, model } = lookupAgent({ context: { summarise: { model: summaries } } })
    const runtime = story.start({ agents: [agent], logger })
    await talk(runtime.conversation('c1', { agent: 'lookup' }), 40)
    await runtime.close()
    expect(model.calls).toHaveLength(80)
    // A quarter more of the log each time: from a tenth of it to the whole, that is eleven times.
    expect(summaries.calls.length).toBeGreaterThanOrEqual(3)
    expect(summaries.calls.length).toBeLessThanOrEqual(12)
    expect(warnings).toEqual(summaries.calls.map(() => 'no summary could be made; trying again later'))
  })

  test('by two nodes at once leaves one summary that is as good as either', async () => {
    const both = gate()
    let asked = 0
    const summaries = (text: string) =>
      scriptedModel(async () => {
        asked += 1
        if (asked === 2) both.open()
        await both.opened
        return text
      })
    const agentOf = (text: string) => lookupAgent({ context: { summarise: { model: summaries(text) } } })
    const store = story.openStore()
    const first = story.start({ agents: [agentOf('One.').agent], store })
    const second = story.start({ agents: [agentOf('Two.').agent], store: story.reopen(store) })
    const chats = [first, second].map((runtime) => runtime.conversation('c1', { agent: 'lookup' }))
    for (let n = 1; asked < 2 && n < 60; n++) await talk(chats[n % 2]!, 1, n)
    expect(asked).toBeGreaterThanOrEqual(2)
    await first.close()
    await second.close()
    const summary = (await store.latestSummary('c1'))!
    expect(['One.', 'Two.']).toContain(summary.content)
    expect((await store.streamEvents('c1', { after: summary.toSeq - 1, before: summary.toSeq + 1 }))[0]?.type).toBe(
      'turn_ended',
    )
    expect(summary.base).toEqual(baseOf(foldEvents(await store.streamEvents('c1', { before: summary.toSeq + 1 }))))
  })

  test('can be switched off: then old turns are left out, and revival still begins late', async () => {
    const { agent, model } = lookupAgent({ context: { summarise: false } })
    const runtime = story.start({ agents: [agent] })
    await talk(runtime.conversation('c1', { agent: 'lookup' }), 40)
    await runtime.close()
    const { summary, events } = await runtime.store.loadSince('c1')
    expect(summary).toMatchObject({ content: null })
    expect(events.length).toBeLessThan(200)
    for (const { prompt } of model.calls) expect(linesOf(prompt).join()).not.toContain(heading)
    expectStablePrefix(model.calls)
  })

  test('of a conversation that was deleted does not come back in one of the same name', async () => {
    const { agent, model } = lookupAgent({ context: { summarise: { model: scriptedModel('The code is 1234.') } } })
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'lookup' })
    await talk(chat, 40)
    expect(await until(() => runtime.store.latestSummary('c1'))).toMatchObject({ content: 'The code is 1234.' })
    await chat.delete()
    const calls = model.calls.length
    await talk(chat, 3)
    for (const { prompt } of model.calls.slice(calls)) expect(JSON.stringify(prompt)).not.toContain('1234')
    expect(linesOf(model.calls.at(-1)!.prompt)[0]).toBe('user: Please look up number 1.')
  })

  test('that is acknowledged after its conversation was deleted does not come back either', async () => {
    const summaries = scriptedModel(({ n }) => (n === 1 ? 'The code is 1234.' : 'They looked things up.'))
    const { agent, model } = lookupAgent({ context: { summarise: { model: summaries } } })
    const slow = slowStore(story.openStore(), 'putSummary', { isWritten: true })
    const chat = story.start({ agents: [agent], store: slow.store }).conversation('c1', { agent: 'lookup' })
    await talk(chat, 20)
    await slow.isCalled
    await chat.delete()
    const calls = model.calls.length
    await talk(chat, 1)
    slow.goOn()
    await talk(chat, 30, 2)
    const prompts = model.calls.slice(calls).map(({ prompt }) => JSON.stringify(prompt))
    expect(prompts.filter((prompt) => prompt.includes('1234'))).toEqual([])
    expect(prompts.at(-1)).toContain('They looked things up.')
  })
})
