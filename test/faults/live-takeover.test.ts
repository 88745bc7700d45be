import { expect, inject, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { GrowingView } from '../../src/view/growing-view.ts'
import type { View } from '../../src/view/view.ts'
import { checkOneText, words, writer } from '../live/writer.ts'
import { until } from '../stories/until.ts'
import { spawnChild } from './harness/spawn-child.ts'
import { openStore, type Target } from './harness/target.ts'
import { withTarget } from './harness/with-target.ts'
import type { WriterInput } from './live-takeover/child.ts'

const leaseMs = 1_000

async function startWriter(target: Target, name: string, delayMs: number) {
  let isReady = false
  const child = spawnChild({
    script: new URL('./live-takeover/child.ts', import.meta.url),
    input: { target, name, delayMs, leaseMs } satisfies WriterInput,
    onMessage: () => {
      isReady = true
    },
  })
  await until(() => isReady)
  return child
}

/** The node that watches: it does not work. */
async function watchingNode(target: Target) {
  const store = await openStore(target)
  const runtime = createRuntime({ agents: [writer('c', 1)], store, work: false, pollMs: 50, logger: silentLogger })
  const close = async (): Promise<void> => {
    await runtime.close()
    await store.close()
  }
  return { runtime, close }
}

function draftsOf({ drafts }: View): string[] {
  return drafts.map(({ parts }) => parts.map(({ text }) => text).join(''))
}

test('while a node is killed in mid-message and another takes over, a third shows one text at a time, and then what the log says (postgres)', async () => {
  await withTarget({ store: 'postgres', postgresUrl: inject('postgresUrl') }, async (target) => {
    const { runtime, close } = await watchingNode(target)
    // The one that is told works on it at once.
    const [first, second] = await Promise.all([startWriter(target, 'a', 15), startWriter(target, 'b', 15)])
    const chat = runtime.conversation('c1', { agent: 'writer' })
    let shown: GrowingView | null = null
    const seen: string[] = []
    const watching = (async () => {
      for await (const event of chat.watch()) {
        if (shown) shown.take(event)
        else if (event.type === 'snapshot') shown = new GrowingView(event.view)
        const drafts = draftsOf(shown!.view)
        expect(drafts.length).toBeLessThan(2)
        for (const text of drafts) {
          checkOneText(text)
          if (text !== seen.at(-1)) seen.push(text)
        }
        if (event.type === 'turn_ended') return
      }
    })()
    await until(() => shown)
    first.tell('c1')
    await until(() => seen.some((text) => text.includes('a1.5 ')))
    first.kill()
    await first.ended
    await watching
    expect(seen.filter((text) => text.startsWith('b1.')).length).toBeGreaterThan(5)
    const { messages, drafts } = await chat.view()
    const text = Array.from({ length: words }, (_, n) => `b1.${n} `).join('')
    expect([messages.at(-1), drafts]).toMatchObject([{ parts: [{ text }] }, []])
    second.kill()
    await second.ended
    await close()
  })
})
