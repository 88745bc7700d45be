import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('a process with nothing else to do stays for the next attempt, and ends after it', async () => {
  const program = `
    import { systemClock } from '${new URL('../base/clock.ts', import.meta.url)}'
    import { scriptedModel } from '${new URL('../testing/scripted-model.ts', import.meta.url)}'
    import { streamModel } from '${new URL('stream-model.ts', import.meta.url)}'
    const message = await streamModel({
      models: [scriptedModel([{ error: { status: 503 } }, 'after all'])],
      prompt: [],
      tools: [],
      settings: {},
      retry: { maxAttempts: 2, baseMs: 20, maxMs: 20 },
      timeouts: { firstChunkMs: 60_000, betweenChunksMs: 60_000, totalMs: 60_000 },
      signal: new AbortController().signal,
      clock: systemClock,
      newCallId: () => 'c',
      redact: (text) => text,
    }, () => {})
    console.log(message.parts[0].text)
  `
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
  expect(stdout.trim()).toBe('after all')
})
