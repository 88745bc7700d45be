import fc from 'fast-check'
import { expect, test } from 'vitest'
import { copyExport } from './remote-upkeep.ts'

const digest = 'ab'.repeat(32)
const whole = Buffer.from(
  [
    '{"format":"perdure.export","version":1,"tenant":null}',
    '{"line":"conversation","id":"a"}',
    `{"line":"event","content":{"text":"${'ü'.repeat(100_000)}"}}`,
    '{"line":"conversation_end","rows":1}',
    `{"line":"end","conversations":1,"lines":4,"sha256":"${digest}"}`,
    '',
  ].join('\n'),
)

test('an export is passed on byte for byte, wherever it was cut into pieces', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: whole.length }), { maxLength: 20 }), async (cuts) => {
      const { exported, written, progress } = await copied(pieces(whole, cuts))
      expect(exported).toEqual({ digest, conversations: 1 })
      expect(written.equals(whole)).toBe(true)
      expect(progress.at(-1)).toEqual({ done: 1, total: 7, rows: 5 })
    }),
    { numRuns: 50 },
  )
})

test('one that ends anywhere before its last newline is not whole', async () => {
  const last = whole.lastIndexOf('{"line":"end"')
  const ends = [0, 1, 60, 90_000, last - 1, last, last + 20, whole.length - 1]
  for (const end of ends) expect((await copied([whole.subarray(0, end)])).exported).toBe(null)
})

test('a line that tells of a problem is thrown, and is not passed on', async () => {
  const problem = { code: 'store_failed', status: 503, detail: 'The store failed. Try again.', retryable: true }
  const head = whole.subarray(0, whole.indexOf('{"line":"conversation_end"'))
  const text = Buffer.concat([head, Buffer.from(`${JSON.stringify({ line: 'problem', problem })}\n`)])
  for (const cuts of [[], [head.length], [head.length + 3], [head.length + 16]]) {
    const written: Uint8Array[] = []
    const copying = copyExport(listed(pieces(text, cuts)), async (piece) => void written.push(piece as Uint8Array), {
      total: null,
      onProgress: () => {},
    })
    await expect(copying).rejects.toMatchObject({ code: 'store_failed', retryable: true })
    expect(String(Buffer.concat(written))).not.toContain('problem')
  }
})

async function copied(chunks: readonly Uint8Array[]) {
  const written: Uint8Array[] = []
  const progress: unknown[] = []
  const exported = await copyExport(listed(chunks), async (piece) => void written.push(piece as Uint8Array), {
    total: 7,
    onProgress: (told) => progress.push(told),
  })
  return { exported, written: Buffer.concat(written), progress }
}

function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end))
}

async function* listed(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}
