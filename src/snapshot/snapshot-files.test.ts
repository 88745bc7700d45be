import { afterAll, expect, test } from 'vitest'
import type { Snapshot, SnapshotFile } from '../log/snapshot.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import { storeFiles, withFileBytes } from './snapshot-files.ts'

const store = memoryStore()
const tenant = store.forTenant('acme')
afterAll(() => store.close())

const png = 'image/png'
const fileOf = (more: Partial<SnapshotFile>): SnapshotFile => ({
  type: 'file',
  mediaType: png,
  filename: null,
  ...more,
})
const snapshotOf = (...files: SnapshotFile[]): Snapshot => ({
  ...{ version: 3, seq: 1, phase: 'idle', title: null, summary: null, turns: [] },
  messages: files.map((file) => ({
    ...{ role: 'user', turnId: 't', at: 1 },
    parts: [{ type: 'text', text: 'Look' }, file],
  })),
})
const filesOf = ({ messages }: Snapshot) => messages.map(({ parts }) => parts[1] as SnapshotFile)
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
const mib = 1024 * 1024

async function stored(bytes: Uint8Array, more: Partial<SnapshotFile> = {}): Promise<SnapshotFile> {
  return fileOf({ blob: await tenant.putBlob(bytes, png), ...more })
}

test('a snapshot without stored files stays the same object', async () => {
  const plain = snapshotOf(fileOf({ url: 'https://example.com/a' }))
  expect(await withFileBytes(plain, tenant)).toBe(plain)
})

test('a file has its bytes in the newest message that has it', async () => {
  const file = await stored(new Uint8Array([1, 2, 3]), { filename: 'a.png' })
  const [first, second] = filesOf(await withFileBytes(snapshotOf(file, { ...file }), tenant))
  expect(first).toEqual(file)
  expect(second).toEqual({ ...file, data: base64(new Uint8Array([1, 2, 3])) })
})

test('two mebibytes of files fit into a snapshot, the newest first, and smaller ones beside one that does not', async () => {
  const whole = await stored(new Uint8Array(2 * mib).fill(1))
  const more = await stored(new Uint8Array(2 * mib + 1).fill(2))
  const one = await stored(new Uint8Array(mib).fill(3))
  const hasData = async (...files: SnapshotFile[]) =>
    filesOf(await withFileBytes(snapshotOf(...files), tenant)).map(({ data }) => data !== undefined)
  expect(await hasData(whole)).toEqual([true])
  expect(await hasData(more)).toEqual([false])
  expect(await hasData(one, whole)).toEqual([false, true])
  expect(await hasData(whole, one)).toEqual([false, true])
  expect(await hasData(one, more)).toEqual([true, false])
})

test('the size that a ref claims is not believed, and what is gone is left out', async () => {
  const large = await stored(new Uint8Array(2 * mib + 1).fill(4))
  const lying = fileOf({ blob: { ...large.blob!, size: 1 } })
  const gone = fileOf({ blob: { blob: 'f'.repeat(64), mediaType: png, size: 1 } })
  const small = await stored(new Uint8Array([9]))
  const files = filesOf(await withFileBytes(snapshotOf(small, lying, gone), tenant))
  expect(files.map(({ data }) => data)).toEqual([base64(new Uint8Array([9])), undefined, undefined])
})

test.each<[string, Partial<SnapshotFile>, object]>([
  [
    'with an address stays what it is',
    { url: 'https://example.com/a', filename: 'a.png' },
    { type: 'file', mediaType: png, data: 'https://example.com/a', filename: 'a.png' },
  ],
  ['with an address that is none of the web is missing', { url: 'file:///etc/passwd' }, missing(`(${png})`)],
  ['with nothing is missing', { filename: 'a.png' }, missing(`a.png (${png})`)],
  ['of no media type is missing', { mediaType: '', url: 'https://example.com/a' }, missing('()')],
  ['of a media type with a blank is missing', { mediaType: 'a b', url: 'https://example.com/a' }, missing('(a b)')],
])('a file of a snapshot %s', async (_, more, part) => {
  const file = fileOf(more)
  expect((await storeFiles(snapshotOf(file), tenant))(file)).toEqual(part)
})

function missing(what: string): object {
  return { type: 'text', text: `[file ${what}: it was not in the snapshot]` }
}

test('bytes of a snapshot are stored, and stand for the same file in earlier messages', async () => {
  const other = store.forTenant('other')
  const bytes = new Uint8Array([5, 6, 7])
  const { blob } = await stored(bytes)
  const first = fileOf({ blob: blob!, filename: 'first.png' })
  const second = fileOf({ blob: blob!, data: base64(bytes), filename: 'second.png' })
  const partOf = await storeFiles(snapshotOf(first, second), other)
  const part = { type: 'file', mediaType: png, data: { blob: blob!.blob, mediaType: png, size: 3 } }
  expect(partOf(second)).toEqual({ ...part, filename: 'second.png' })
  expect(partOf(first)).toEqual({ ...part, filename: 'first.png' })
  expect(await other.getBlob(blob!)).toMatchObject({ mediaType: png })
})

test('a file without bytes stays one where the store still has them', async () => {
  const kept = await stored(new Uint8Array([8]))
  const gone = fileOf({ blob: { blob: 'e'.repeat(64), mediaType: png, size: 1 } })
  const partOf = await storeFiles(snapshotOf(kept, gone), tenant)
  expect(partOf(kept)).toEqual({ type: 'file', mediaType: png, data: kept.blob })
  expect(partOf(gone)).toEqual(missing(`(${png})`))
})

test('eight mebibytes of files are restored, the newest first', async () => {
  const five = fileOf({ data: base64(new Uint8Array(5 * mib)) })
  const four = fileOf({ data: base64(new Uint8Array(4 * mib)) })
  const three = fileOf({ data: base64(new Uint8Array(3 * mib)) })
  const restored = async (...files: SnapshotFile[]) => {
    const partOf = await storeFiles(snapshotOf(...files), tenant)
    return files.map((file) => partOf(file).type)
  }
  expect(await restored(three, five)).toEqual(['file', 'file'])
  expect(await restored(four, five)).toEqual(['text', 'file'])
})
