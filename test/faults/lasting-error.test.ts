import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { spawnChild } from './harness/spawn-child.ts'
import type { BrokenInput, BrokenMessage } from './lasting-error/child.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-lasting-error-'))
const watchMs = 4_000
const patienceMs = 40_000
afterAll(() => rmSync(folder, { recursive: true }))

// Where reads go well the node looks for work every 20 ms, as it should; where they fail, the search itself pauses.
test.each<[BrokenInput['breakage'], number]>([
  ['every commit is refused', 700],
  ['every commit throws', 700],
  ['a table is missing', 80],
  ['the file is damaged', 80],
])(
  'a store that fails for good is left alone for longer and longer, and told of sparingly: %s',
  {
    timeout: patienceMs + 10_000,
  },
  async (breakage, mostCalls) => {
    const { calls, lines, closedInMs } = await watched(breakage)
    expect(calls).toBeLessThan(mostCalls)
    expect(lines.length / watchMs).toBeLessThan(0.005)
    expect(lines.length).toBeGreaterThan(0)
    expect(closedInMs).toBeLessThan(5_000)
  },
)

test('conversations that a store fails for are set aside, and lists say so', {
  timeout: patienceMs + 10_000,
}, async () => {
  expect(await watched('every commit is refused')).toMatchObject({ problems: 20 })
})

async function watched(breakage: BrokenInput['breakage']): Promise<BrokenMessage> {
  const heard: BrokenMessage[] = []
  const child = spawnChild<BrokenMessage>({
    script: new URL('./lasting-error/child.ts', import.meta.url),
    input: { breakage, path: join(folder, `${breakage}.db`), watchMs } satisfies BrokenInput,
    onMessage: (message) => void heard.push(message),
  })
  // An event loop that does not turn never comes to the timer that ends the child.
  const stop = setTimeout(() => child.kill(), patienceMs)
  const { complaint, signal } = await child.ended
  clearTimeout(stop)
  if (!heard[0]) throw new Error(`nothing was heard; signal: ${signal}; ${complaint}`)
  return heard[0]
}
