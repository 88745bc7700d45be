import { expect, test } from 'vitest'
import { followWork } from './remote-upkeep.ts'

const finding = '{"type":"finding","code":"seq_gap","problem":"the log jumps"}\n'

test('lines are told as they come, empty ones only show that the work goes on, and the result is the end', async () => {
  const told: unknown[] = []
  const progress: unknown[] = []
  const lines = ['\n', '{"type":"progress","done":1}\n', finding, '\n', '{"type":"result","faults":1}\n', finding]
  const result = await followWork(listed(lines), {
    onProgress: (at) => progress.push(at),
    onLine: (type, what) => told.push([type, what]),
  })
  expect(result).toEqual({ faults: 1 })
  expect(progress).toEqual([{ done: 1 }])
  expect(told).toEqual([['finding', { code: 'seq_gap', problem: 'the log jumps' }]])
})

test.each([
  ['nothing', []],
  ['no result', [finding]],
  ['half a result', [finding, '{"type":"result","faults":1}']],
])('lines that end with %s have no result', async (_, lines) => {
  expect(await followWork(listed(lines))).toBe(null)
})

test('a problem is thrown with its code, and what is no JSON is not taken for an answer', async () => {
  const problem = '{"type":"problem","problem":{"code":"store_busy","status":503,"detail":"Busy.","retryable":true}}\n'
  await expect(followWork(listed([finding, problem]))).rejects.toMatchObject({ code: 'store_busy', message: 'Busy.' })
  await expect(followWork(listed(['<html>\n']))).rejects.toMatchObject({ code: 'server_unreachable' })
})

async function* listed(lines: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const line of lines) yield Buffer.from(line)
}
