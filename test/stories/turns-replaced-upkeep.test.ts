import { expect, test, vi } from 'vitest'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import { exported, importText } from '../upkeep/exported.ts'
import { lookupAgent, talk } from './context-agent.ts'
import { overStores } from './over-stores.ts'
import { linesOf } from './texts.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 60_000 })

overStores('replaced turns, beside everything that keeps a log', (story) => {
  test('are no fault to the doctor, however long ago they began, and an export and an import keep them', async () => {
    const { agent } = lookupAgent({})
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'lookup' })
    await talk(chat, 22)
    const [first] = (await chat.events()).flatMap((event) => (event.type === 'user_msg' ? [event.content.turnId] : []))
    const again = await chat.retry(first!, { force: true })
    await again.outcome()
    const findings: unknown[] = []
    await until(async () => (await runtime.store.getConversation('c1'))?.status === 'idle')
    const { digest } = await examineStore(runtime.store, { onFinding: (finding) => void findings.push(finding) })
    expect(findings).toEqual([])
    const copy = story.openStore()
    await importText(copy, await exported(runtime.store))
    expect(await examineStore(copy)).toMatchObject({ faults: 0, digest })
    const there = story.start({ agents: [agent], store: copy })
    const view = await there.conversation('c1').view()
    expect(view.messages).toEqual((await chat.view()).messages)
    expect(view.messages[0]).toMatchObject({ turnId: again.turnId, variants: 2 })
  })

  test('take the summaries of what they said with them, and the prompt is whole again', async () => {
    const summaries = scriptedModel(({ n }) => `They looked up ${n}.`)
    const { agent, model } = lookupAgent({ context: { summarise: { model: summaries } } })
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'lookup' })
    await talk(chat, 30)
    await until(() => runtime.store.latestSummary('c1'))
    const said = (await chat.events()).flatMap((event) => (event.type === 'user_msg' ? [event.content.turnId] : []))
    // The turn is under the summary by now. Those that tell of it are asked for before this; one of the turns before it may be asked for after.
    const asked = summaries.calls.length
    const edited = await chat.send('look up something else', { replaces: said[2]!, force: true })
    await edited.outcome()
    const latest = await runtime.store.latestSummary('c1')
    const from = (await chat.events()).find(({ type }) => type === 'superseded')!.content as { fromSeq: number }
    expect(latest === null || latest.toSeq < from.fromSeq).toBe(true)
    const prompt = linesOf(model.calls.at(-1)!.prompt)
    for (let n = 1; n <= asked; n++) expect(prompt.join('\n')).not.toContain(`They looked up ${n}.`)
    for (const { prompt: told } of summaries.calls.slice(asked)) expect(linesOf(told).join()).not.toContain('number 9')
    expect(prompt.some((line) => line.includes('its messages are withdrawn'))).toBe(true)
    expect((await chat.history()).messages.filter(({ role }) => role === 'user')).toHaveLength(3)
  })
})
