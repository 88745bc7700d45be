import { expect, test } from 'vitest'
import type { Explanation } from '../../src/prompt/explain.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { lookupAgent, talk } from './context-agent.ts'
import { overStores } from './over-stores.ts'

overStores('why did it forget that?', (story) => {
  test('each event is told as it was in the prompt of a call, with the reason', async () => {
    const summaries = scriptedModel('They looked things up.')
    const { agent, model } = lookupAgent({
      tokens: 100,
      audit: 'records',
      context: { summarise: { model: summaries }, retention: { mode: 'age', value: 2 } },
    })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'lookup' })
    await talk(chat, 40)
    const events = await chat.events()
    const rows = await chat.modelCalls()
    const seen = new Set<Explanation['shown']>()
    for (const row of rows.filter(({ turnRef }) => !turnRef.startsWith('summary/'))) {
      const { seen: upTo } = row.evictions as { seen: number }
      const prompt = JSON.stringify(
        model.calls.find((call) => call.prompt.length > 0 && isOf(call.prompt, upTo, events))?.prompt,
      )
      const told = await chat.explain(row)
      expect(told.map(({ seq }) => seq)).toEqual(events.map(({ seq }) => seq))
      for (const [index, { shown }] of told.entries()) {
        seen.add(shown)
        const event = events[index]!
        if (event.type !== 'user_msg') continue
        const [part] = event.content.message.parts
        const text = part?.type === 'text' ? part.text : ''
        expect([event.seq, shown === 'verbatim']).toEqual([event.seq, prompt.includes(JSON.stringify(text))])
      }
    }
    // A summary is written beside the turns: until it is there, what it will stand for may be outside the window.
    seen.delete('outside_window')
    expect([...seen].toSorted()).toEqual(['not_shown', 'stubbed', 'summarised', 'verbatim'])
    const last = await chat.explain(rows.findLast(({ turnRef }) => !turnRef.startsWith('summary/'))!)
    expect(last[0]).toMatchObject({
      seq: 1,
      type: 'user_msg',
      shown: 'summarised',
      why: expect.stringContaining('of the summary covers'),
    })
    expect(last.find(({ shown }) => shown === 'stubbed')).toMatchObject({
      type: 'tool_result',
      why: expect.stringContaining("the retention of 'look' is 2 turns"),
    })
  })

  test('what was cut before there was a summary is outside the window', async () => {
    const { agent } = lookupAgent({ audit: 'records', context: { summarise: false } })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'lookup' })
    await talk(chat, 14)
    const rows = await chat.modelCalls()
    const told = (await Promise.all(rows.map((row) => chat.explain(row)))).flat()
    expect(told.find(({ shown }) => shown === 'outside_window')).toMatchObject({
      why: expect.stringMatching(/^the budget was full, and turns that began before \d+ were left out$/),
    })
    expect(told.filter(({ shown }) => shown === 'summarised')).toEqual([])
  })
})

/** Whether the prompt is the one that ends with the newest message up to a seq. */
function isOf(
  prompt: readonly unknown[],
  upTo: number,
  events: readonly { seq: number; type: string; content: unknown }[],
): boolean {
  const last = events[upTo - 1]
  const text = JSON.stringify(prompt.at(-1))
  if (last?.type === 'user_msg') {
    const { message } = last.content as { message: { parts: { text: string }[] } }
    return text.includes(JSON.stringify(message.parts[0]!.text))
  }
  const { result } = last!.content as { result: string }
  return text.includes(JSON.stringify(result))
}
