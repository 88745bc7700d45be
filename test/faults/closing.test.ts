import { expect, inject, test } from 'vitest'
import { startFaultyProxy } from '../support/faulty-proxy.ts'
import type { ClosingInput, ClosingMessage } from './closing/child.ts'
import { spawnChild } from './harness/spawn-child.ts'
import { withTarget } from './harness/with-target.ts'

const drainMs = 1_000
/** What `close` may take to hand over beyond `drainMs`, and as much again for a machine that is busy. */
const boundMs = drainMs + 2_000 + 3_000
const patienceMs = 60_000

test('close returns in its time after a commit of a start whose fate is unknown', { timeout: patienceMs }, async () => {
  expect(await closedInMs({ target: null, drainMs })).toBeLessThan(boundMs)
})

test('close returns in its time when the file may not grow any more', { timeout: patienceMs }, async () => {
  await withTarget({ store: 'sqlite' }, async (target) => {
    // In blocks of 1 KiB: enough to open the store and to begin.
    const wrapper = ['bash', '-c', 'ulimit -f 600; exec "$@"', 'limited']
    expect(await closedInMs({ target, drainMs }, { wrapper })).toBeLessThan(boundMs)
  })
})

test('close returns in its time when the database is gone without a word (postgres)', {
  timeout: patienceMs,
}, async () => {
  await withTarget({ store: 'postgres', postgresUrl: inject('postgresUrl') }, async (target) => {
    if (target.store !== 'postgres') throw new Error('not on Postgres')
    const proxy = await startFaultyProxy(target.url)
    const goAway = () => {
      proxy.hangNewAt('')
      proxy.freeze()
    }
    const through = { ...target, url: proxy.url }
    expect(await closedInMs({ target: through, drainMs }, { onWorking: goAway })).toBeLessThan(boundMs)
    await proxy.close()
  })
})

async function closedInMs(
  input: ClosingInput,
  { wrapper, onWorking }: { readonly wrapper?: readonly string[]; readonly onWorking?: () => void } = {},
): Promise<number> {
  const heard: ClosingMessage[] = []
  const child = spawnChild<ClosingMessage>({
    script: new URL('./closing/child.ts', import.meta.url),
    input,
    ...(wrapper ? { wrapper } : {}),
    onMessage: (message) => {
      heard.push(message)
      if (message.type !== 'working') return
      onWorking?.()
      // Long enough for what runs to meet what is broken.
      setTimeout(() => child.tell('close'), 1_500)
    },
  })
  const stop = setTimeout(() => child.kill(), patienceMs - 5_000)
  const { complaint } = await child.ended
  clearTimeout(stop)
  const closed = heard.find((message) => message.type === 'closed')
  if (!closed) throw new Error(`it did not close: ${complaint}`)
  return closed.ms
}
