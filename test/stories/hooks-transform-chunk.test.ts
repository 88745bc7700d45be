import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import type { ChunkTransformer } from '../../src/define/language-model.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { isIdle, joined } from './joined.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { linesOf } from './texts.ts'

function start(story: StoryContext, transformChunk: ChunkTransformer, words: string[] = ['My ', 'secret', ' hat']) {
  const model = scriptedModel(({ n }) => (n === 1 ? { reasoning: 'hm', text: words } : 'fine'))
  const agent = defineAgent({ name: 'a', model, transformChunk })
  return { model, chat: story.start({ agents: [agent] }).conversation('c1', { agent: 'a' }) }
}

overStores('transforming what a model streams', (story) => {
  test('changes the shown text, the kept text and later prompts alike', async () => {
    const { chat, model } = start(story, (chunk) =>
      chunk.type === 'text_delta' ? { ...chunk, delta: chunk.delta.replace('secret', '***') } : chunk,
    )
    const watcher = await joined(chat)
    const turn = await chat.send('hello')
    expect(await turn.outcome()).toMatchObject({ text: 'My *** hat' })
    await watcher.until(isIdle)
    const shown = watcher.events.flatMap((event) => (event.type === 'text_delta' ? [event.delta] : []))
    expect(shown).toEqual(['My ', '***', ' hat'])
    await (await chat.send('again')).outcome()
    expect(linesOf(model.calls[1]!.prompt)[1]).toBe('assistant: hm My *** hat')
    expect(JSON.stringify(await chat.events())).not.toContain('secret')
  })

  test('a chunk turned into nothing, or into something unknown, is dropped', async () => {
    const { chat } = start(story, (chunk) => {
      if (chunk.type !== 'text_delta' || chunk.delta === 'My ') return chunk
      return chunk.delta === 'secret' ? null : { type: 'banner', delta: chunk.delta }
    })
    const watcher = await joined(chat)
    expect(await (await chat.send('hello')).outcome()).toMatchObject({ status: 'completed', text: 'My ' })
    await watcher.until(isIdle)
    expect(watcher.events.filter((event) => event.type === 'text_delta')).toHaveLength(1)
    const counts = watcher.events.flatMap((event) => ('n' in event ? [event.n] : []))
    expect(counts).toEqual([1, 2])
  })

  test('that throws fails the turn: what it was meant to change is neither shown nor kept', async () => {
    const { chat } = start(story, (chunk) => {
      if (chunk.delta === 'secret') throw new Error('cannot hide it')
      return chunk
    })
    const outcome = await (await chat.send('hello')).outcome()
    expect(outcome).toMatchObject({ status: 'failed', reason: expect.stringMatching(/^transform_failed/) })
    expect(JSON.stringify(await chat.events())).not.toContain('secret')
    expect(await (await chat.send('again')).outcome()).toMatchObject({ status: 'completed', text: 'fine' })
  })

  test('has to be synchronous: a promise fails the turn, which says so', async () => {
    for (const transform of [async (chunk: unknown) => chunk, () => Promise.reject(new Error('late'))]) {
      const { chat } = start(story, transform)
      expect(await (await chat.send('hello')).outcome()).toMatchObject({
        status: 'failed',
        reason:
          "transform_failed: The agent's transformChunk returned a promise, but it must be synchronous. Make it return the chunk itself.",
        text: '',
      })
    }
  })
})
