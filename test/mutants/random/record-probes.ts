/** In each test file of the run that finds out what each test runs: writes a line for each test, and one for what ran outside of them. */
import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'
import { afterAll, afterEach, beforeEach, type TestContext } from 'vitest'

/** What a test ran, as one bit per probe, in base64. `name` is null for what a file ran before, between and after its tests. */
export type ProbeRecord = {
  readonly file: string
  readonly name: string | null
  readonly ms: number
  readonly isFailed: boolean
  readonly hits: string
}

declare global {
  var perdureProbe: ((number: number) => void) | undefined
}

const output = process.env['PERDURE_PROBES_OUTPUT']!
const hits = Buffer.alloc(Math.ceil(Number(process.env['PERDURE_PROBES_COUNT']) / 8))
let file = ''
let startedAt = 0

globalThis.perdureProbe = (number) => {
  hits[number >> 3]! |= 1 << (number & 7)
}

beforeEach(({ task }) => {
  file = relative(process.cwd(), task.file.filepath)
  write(null)
  startedAt = performance.now()
})

afterEach(({ task }) => write(nameOf(task), performance.now() - startedAt, task.result?.state === 'fail'))
afterAll(() => write(null))

function write(name: string | null, ms = 0, isFailed = false): void {
  const record: ProbeRecord = { file, name, ms: Math.round(ms), isFailed, hits: hits.toString('base64') }
  if (file !== '') appendFileSync(output, `${JSON.stringify(record)}\n`)
  hits.fill(0)
}

/** The names around it, and its own. */
function nameOf(task: TestContext['task']): string {
  const names = [task.name]
  for (let suite = task.suite; suite; suite = suite.suite) if (suite.name !== '') names.unshift(suite.name)
  return names.join(' ')
}
