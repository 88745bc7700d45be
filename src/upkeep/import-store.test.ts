import { beforeAll, describe, expect, test } from 'vitest'
import { seededRandom } from '../../test/faults/harness/seeded-random.ts'
import { exported, importText } from '../../test/upkeep/exported.ts'
import {
  ImportExistsError,
  ImportInvalidError,
  ImportTooNewError,
  UpkeepUnsupportedError,
} from '../base/errors/store-errors.ts'
import { silentLogger } from '../base/logger.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import {
  assistantMsg,
  suspension,
  titled,
  toolCall,
  turnEnded,
  userMsg,
  userMsgOf,
} from '../testing/conformance/event-builders.ts'
import { exportStore } from './export-store.ts'
import { importStore } from './import-store.ts'
import type { Progress } from './maintenance.ts'

const open = () => memoryStore({ logger: silentLogger })
let text = ''
let lines: string[] = []

beforeAll(async () => {
  const store = open()
  for (const tenant of ['default', 'other']) {
    const handle = store.forTenant(tenant)
    const ref = await handle.putBlob(Buffer.alloc(200_000, tenant), 'text/plain')
    const file = { type: 'file' as const, mediaType: 'text/plain', data: ref }
    await handle.commit('one', { events: [userMsgOf([file]), titled('A')], key: 'k', digest: 'd' })
    await handle.commit('two', {
      events: [userMsg(), assistantMsg(), toolCall('c1'), suspension('c1')],
      calls: [{ id: 'c1', expiresInMs: 60_000 }],
      wakeAt: null,
    })
    await handle.commit('three', { events: [userMsg('half \ud800 and \u2028'), turnEnded()] })
    await handle.putSummary('three', { fromSeq: 1, toSeq: 2, content: null, version: 1, base: null })
    await handle.putModelCall('three', { turnRef: 'a', renderedContext: { '1': -0, b: 1e21 } })
    await handle.putSnapshot('three', { of: 'three' })
  }
  text = await exported(store)
  lines = text.split('\n').slice(0, -1)
})

describe('an import', () => {
  test.each(['{"a":'.repeat(600) + '1' + '}'.repeat(600), '1e999'])(
    'of a value that a log cannot hold names the line',
    async (settings) => {
      const index = lines.findIndex((line) => line.includes('"settings":{}'))
      const hostile = lines.with(index, lines[index]!.replace('"settings":{}', `"settings":${settings}`)).join('\n')
      const error = await failure(importText(open(), `${hostile}\n`))
      expect(error).toBeInstanceOf(ImportInvalidError)
      expect(String(error)).toContain(
        `Line ${index + 1} of the export is not valid: 'settings' cannot be stored. Nothing of its conversation was written`,
      )
    },
  )

  test('refuses an event that is larger than one may be, and names the line', async () => {
    const index = lines.findIndex((line) => line.includes('"titled"') && line.includes('"title":"A"'))
    const huge = lines
      .with(index, lines[index]!.replace('"title":"A"', `"title":"${'x'.repeat(1_200_000)}"`))
      .join('\n')
    const error = await failure(importText(open(), `${huge}\n`))
    expect(String(error)).toContain(
      `Line ${index + 1} of the export is not valid: 'content' is larger than an event may be`,
    )
  })

  test('of an export that is cut off anywhere names the line, and leaves only whole conversations', async () => {
    for (const [index, line] of lines.entries()) {
      const before = lines
        .slice(0, index)
        .map((whole) => `${whole}\n`)
        .join('')
      for (const cut of [before, index % 2 === 0 ? before + line : before + line.slice(0, line.length / 2)]) {
        const store = open()
        const error = await failure(importText(store, cut))
        expect(error).toBeInstanceOf(ImportInvalidError)
        expect((error as ImportInvalidError).line).toBe(index + 1)
        await expectWholes(store)
        if (cut === before) continue
        expect(await importText(store, text, { skipExisting: true })).toMatchObject({
          conversations: 6 - endsIn(before),
          skipped: endsIn(before),
        })
        expect(await exported(store)).toBe(text)
      }
    }
  })

  test('of an export in which anything was changed is refused, and nothing that was changed is written', async () => {
    const random = seededRandom(3)
    const bytes = Buffer.from(text)
    for (let round = 0; round < 100; round++) {
      const damaged = Buffer.from(bytes)
      const place = random.int(lines[0]!.length + 1, bytes.length - 1)
      damaged[place] = damaged[place]! ^ (1 << random.int(0, 6))
      if (damaged.equals(bytes)) continue
      const store = open()
      const error = await failure(importText(store, damaged))
      expect([place, error]).toEqual([place, expect.any(ImportInvalidError)])
      await expectWholes(store)
    }
  })

  test('of an export in which lines are missing, doubled or in another order is refused', async () => {
    const random = seededRandom(4)
    for (let round = 0; round < 45; round++) {
      const changed = [...lines]
      const [at, to] = [random.int(1, lines.length - 1), random.int(1, lines.length - 1)]
      if (round % 3 === 0) changed.splice(at, 1)
      if (round % 3 === 1) changed.splice(at, 0, changed[at]!)
      if (round % 3 === 2) changed.splice(to, 0, ...changed.splice(at, 1))
      if (changed.join('\n') === lines.join('\n')) continue
      const store = open()
      const error = await failure(importText(store, `${changed.join('\n')}\n`))
      expect([round, error]).toEqual([round, expect.objectContaining({ code: expect.stringMatching(/^import_/) })])
      await expectWholes(store)
    }
  })

  test('refuses a file that is not an export, and one of a later version, before it writes anything', async () => {
    for (const [input, error] of [
      ['', ImportInvalidError],
      ['\n', ImportInvalidError],
      ['hello\n', ImportInvalidError],
      ['[]\n', ImportInvalidError],
      ['{"a":1}\n', ImportInvalidError],
      [text.replace('"version":1', '"version":2'), ImportTooNewError],
      [text.replace('"version":1', '"version":0'), ImportInvalidError],
      [Uint8Array.from([0xff, 0xfe, 0x0a]), ImportInvalidError],
      [`${text}{"line":"tenant","tenant":"late"}\n`, ImportInvalidError],
    ] as const) {
      const store = open()
      expect(await failure(importText(store, input))).toBeInstanceOf(error)
    }
  })

  test('refuses an existing id, and leaves it as it is; skipping continues', async () => {
    const store = open()
    await store.commit('two', { events: [userMsg('mine')] })
    const error = await failure(importText(store, text))
    expect(error).toBeInstanceOf(ImportExistsError)
    expect((error as Error).message).toContain("the conversation 'two' of tenant 'default'")
    expect((await store.streamEvents('two')).length).toBe(1)
    expect(await importText(store, text, { skipExisting: true })).toMatchObject({ conversations: expect.any(Number) })
    expect((await store.streamEvents('two')).length).toBe(1)
    expect((await store.forTenant('other').streamEvents('two')).length).toBe(4)
  })

  test('refuses a call that another conversation has, and a snapshot that is there', async () => {
    const store = open()
    await store.commit('mine', { events: [userMsg()], calls: [{ id: 'c1' }] })
    expect(await failure(importText(store, text))).toBeInstanceOf(ImportExistsError)
    const other = open()
    await other.putSnapshot('three', { mine: true })
    expect(await failure(importText(other, text))).toBeInstanceOf(ImportExistsError)
    expect(await other.getSnapshot('three')).toEqual({ mine: true })
  })

  test('takes any pieces, also such that cut characters and lines', async () => {
    const bytes = Buffer.from(text)
    for (const size of [1_000, 65_537, 7]) {
      const pieces = async function* () {
        for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size)
      }
      const store = open()
      await importStore(store, pieces())
      expect(await exported(store)).toBe(text)
    }
  })

  test('and an export report progress', async () => {
    const store = open()
    const importing: Progress[] = []
    await importText(store, text, { onProgress: (progress) => importing.push(progress) })
    expect(importing.at(-1)).toMatchObject({ done: 6, total: null })
    const exporting: Progress[] = []
    await exportStore(store, () => {}, { onProgress: (progress) => exporting.push(progress) })
    expect(exporting.map(({ done }) => done)).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(exporting.at(-1)).toMatchObject({ done: 6, total: 6 })
  })

  test('of one tenant has nothing of the others', async () => {
    const store = open()
    await importText(store, text)
    const one = await exported(store, { tenant: 'other' })
    expect(one).not.toContain('"default"')
    const copy = open()
    expect(await importText(copy, one)).toEqual({ conversations: 3, skipped: 0 })
    expect(await exported(copy)).toBe(one.replace('"tenant":"other"}', '"tenant":null}'))
  })

  test('waits for a slow reader, and gives up when it fails', async () => {
    const store = open()
    await importText(store, text)
    let isBusy = false
    await exportStore(store, async () => {
      expect(isBusy).toBe(false)
      isBusy = true
      await new Promise((resolve) => setImmediate(resolve))
      isBusy = false
    })
    const broken = () => Promise.reject(new Error('the disk is full'))
    expect(await failure(exportStore(store, broken))).toMatchObject({ message: 'the disk is full' })
  })

  test('is refused by a store that does not offer upkeep', async () => {
    const { upkeep: _, ...store } = open()
    expect(await failure(importText(store, text))).toBeInstanceOf(UpkeepUnsupportedError)
    expect(await failure(exported(store))).toBeInstanceOf(UpkeepUnsupportedError)
  })
})

function endsIn(before: string): number {
  return before.split('"line":"conversation_end"').length - 1
}

/** Everything that exists is complete and unchanged. */
async function expectWholes(store: ReturnType<typeof open>): Promise<void> {
  const there = (await exported(store)).split('\n').filter((line) => line.includes('"line":"conversation_end"'))
  for (const line of there) expect(lines).toContain(line)
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'it succeeded',
    (error: unknown) => error,
  )
}
