import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startProgress } from './whole-file.ts'

let written: string

beforeEach(() => {
  written = ''
  vi.useFakeTimers({ toFake: ['performance'] })
})

afterEach(() => void vi.useRealTimers())

function stderr(isTTY: boolean, columns = 80): NodeJS.WriteStream {
  const stream = { isTTY, columns, write: (text: string) => void (written += text) }
  return stream as unknown as NodeJS.WriteStream
}

test('a terminal gets a bar that is drawn over and ends on a line of its own', () => {
  const progress = startProgress({ label: 'export', total: 4, stderr: stderr(true) })
  for (let n = 0; n < 4; n += 1) {
    vi.advanceTimersByTime(500)
    progress.advance()
  }
  progress.end()
  const drawn = written.split('\r\u001b[K').slice(1)
  expect(drawn[0]).toBe('export [######..................] 25% 1/4 2/s')
  expect(drawn.at(-1)).toBe('export [########################] 100% 4/4 2/s\n')
})

test('a terminal that does not know how wide it is gets it whole', () => {
  startProgress({ label: 'export', total: 4, stderr: stderr(true, 0) }).advance()
  expect(written).toContain('] 25% 1/4')
})

test('elsewhere there is a line now and then, and none for what is quick', () => {
  const quick = startProgress({ label: 'import', total: null, stderr: stderr(false) })
  quick.advance(10)
  quick.end()
  expect(written).toBe('')
  const slow = startProgress({ label: 'import', total: null, stderr: stderr(false) })
  for (let n = 0; n < 12; n += 1) {
    vi.advanceTimersByTime(1_000)
    slow.advance(100)
  }
  slow.end()
  expect(written).toBe('import 500 100/s\nimport 1000 100/s\nimport 1200 100/s\n')
})
