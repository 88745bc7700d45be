import type { BlobRef } from '../../log/blob-ref.ts'
import type { Change } from '../../store/change.ts'
import type { NewModelCall } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import type { ConversationRow, Upkeep, UpkeepConversation } from '../../store/upkeep.ts'
import { assistantMsg, fsmState, suspension, toolCall, userMsg, userMsgOf } from './event-builders.ts'
import type { Bench, Suite } from './suite.ts'

/** For stores that offer upkeep; the others have no such obligation. */
export function upkeep({ describe, test, testAlone, expect }: Suite): void {
  const testUpkeep = (
    name: string,
    body: (bench: Bench & { upkeep: Upkeep }) => Promise<void>,
    run: Suite['test'] = test,
  ): void =>
    run(name, async (bench) => {
      if (bench.store.upkeep) await body({ ...bench, upkeep: bench.store.upkeep })
    })

  describe('upkeep', () => {
    testUpkeep('a conversation that is read and restored is the same, row by row', async ({ store, upkeep }) => {
      await fill(store, 'chat')
      const before = await read(upkeep, 'chat')
      expect([...new Set(before!.rows.map((row) => row.type))]).toEqual([
        'event',
        'call',
        'summary',
        'key',
        'model_call',
        'blob_ref',
      ])
      const record = await store.getConversation('chat')
      await store.deleteConversation('chat')
      for (const blob of before!.blobs) await upkeep.restoreBlob('default', blob)
      expect(await restore(upkeep, before!)).toEqual({ type: 'ok', seq: record!.lastSeq })
      expect(await read(upkeep, 'chat')).toEqual(before)
      expect(await store.getConversation('chat')).toEqual(record)
      expect((await store.acquireLease('chat', 'another holder', 1_000)) !== null).toBe(true)
    })

    testUpkeep('a restored conversation continues: keys hold, calls are answered once', async ({ store, upkeep }) => {
      await fill(store, 'chat')
      const before = await read(upkeep, 'chat')
      await store.deleteConversation('chat')
      for (const blob of before!.blobs) await upkeep.restoreBlob('default', blob)
      await restore(upkeep, before!)
      const again = { ...wholeChange(refOf(before!.blobs[0]!.hash)), expectedSeq: 0 }
      expect(await store.commit('chat', again)).toMatchObject({ ok: true, seq: before!.conversation.lastSeq })
      const [pending] = await store.pendingToolCalls('chat')
      expect(await store.resolveToolCall(pending!.id, 'resolved', 'yes')).toBe('ok')
      expect(await store.resolveToolCall(pending!.id, 'resolved', 'no')).toBe('stale')
      expect((await store.getConversation('chat'))!.lastSeq).toBe(before!.conversation.lastSeq + 1)
    })

    testUpkeep(
      'a conversation that is there is not restored, and none of the rows is taken',
      async ({ store, upkeep }) => {
        await store.appendEvent('chat', userMsg())
        const before = await read(upkeep, 'chat')
        let isTaken = false
        const rows = async function* (): AsyncGenerator<ConversationRow> {
          isTaken = true
          yield* before!.rows
        }
        expect(await upkeep.restoreConversation('default', before!.conversation, rows())).toEqual({ type: 'exists' })
        expect(isTaken).toBe(false)
        expect(await read(upkeep, 'chat')).toEqual(before)
      },
    )

    testUpkeep('rows that end with an error leave nothing behind', async ({ store, upkeep }) => {
      await fill(store, 'chat')
      const before = await read(upkeep, 'chat')
      const broken = async function* (): AsyncGenerator<ConversationRow> {
        yield* before!.rows.filter((row) => row.type === 'event')
        throw new Error('broken off')
      }
      const copy = { ...before!.conversation, id: 'copy' }
      const failure = await upkeep.restoreConversation('default', copy, broken()).catch((error: Error) => error.message)
      expect(failure).toBe('broken off')
      expect(await store.getConversation('copy')).toBe(null)
      expect(await store.streamEvents('copy')).toEqual([])
    })

    testUpkeep('a call of another conversation or a missing blob prevents a restore', async ({ store, upkeep }) => {
      await fill(store, 'chat')
      const before = await read(upkeep, 'chat')
      const copy = { ...before!, conversation: { ...before!.conversation, id: 'copy' } }
      const [call] = before!.rows.flatMap((row) => (row.type === 'call' ? [row.row.id] : []))
      expect(await restore(upkeep, copy)).toEqual({ type: 'call_exists', callId: call })
      const rows = before!.rows.filter((row) => row.type !== 'call')
      await store.deleteConversation('chat')
      const hash = before!.blobs[0]!.hash
      expect(await restore(upkeep, { ...copy, rows })).toEqual({ type: 'blob_missing', hash })
      expect(await store.getConversation('copy')).toBe(null)
      expect(await store.streamEvents('copy')).toEqual([])
      for (const blob of before!.blobs) await upkeep.restoreBlob('default', blob)
      expect(await restore(upkeep, copy)).toMatchObject({ type: 'ok' })
      expect((await store.getToolCall(call!))!.conversationId).toBe('copy')
    })

    testUpkeep(
      'a snapshot is one moment, whatever is written meanwhile',
      async ({ store, upkeep }) => {
        await fill(store, 'chat')
        const before = await read(upkeep, 'chat')
        await upkeep.snapshot(async (reader) => {
          await store.appendEvent('chat', userMsg('later'))
          await store.appendEvent('new', userMsg())
          expect(await all(reader.tenants())).toEqual(['default'])
          expect(await reader.count(null)).toBe(1)
          expect((await all(reader.conversations('default'))).map(({ id }) => id)).toEqual(['chat'])
          expect(await all(reader.rows('default', 'chat'))).toEqual(before!.rows)
        })
        expect((await store.streamEvents('chat')).length).toBe(before!.conversation.lastSeq + 1)
      },
      // Of its own: tenants that other cases deleted have tombstones.
      testAlone,
    )

    testUpkeep('lists are in the order of their bytes, of any length', async ({ store, upkeep }) => {
      const ids = ['z', 'a', '\uffff', '😀', 'é', ...Array.from({ length: 120 }, (_, n) => `n${n}`)]
      for (const id of ids) await store.appendEvent(id, userMsg())
      for (const id of ids) await store.putSnapshot(id, { id })
      const inOrder = [...ids].sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
      await upkeep.snapshot(async (reader) => {
        expect((await all(reader.conversations('default'))).map(({ id }) => id)).toEqual(inOrder)
        expect((await all(reader.snapshots('default'))).map(({ id }) => id)).toEqual(inOrder)
        expect(await all(reader.orphans())).toEqual([])
      })
    })

    testUpkeep(
      'derived rows are rebuilt if log and row are as expected and no process holds the conversation',
      async ({ store, upkeep }) => {
        await fill(store, 'chat')
        const { conversation } = (await read(upkeep, 'chat'))!
        const { lastSeq, updatedAt } = conversation
        const none = { putCalls: [], removeCalls: [], bases: [], putBlobRefs: [], removeBlobRefs: [] }
        const columns = { status: 'suspended' as const, wakeAt: 5, title: '"Rebuilt"' }
        const rebuild = (expected: { lastSeq: number; updatedAt: number }) =>
          upkeep.rebuild('default', 'chat', { ...none, expected, columns })
        expect(await rebuild({ lastSeq: lastSeq - 1, updatedAt })).toBe('moved')
        expect(await rebuild({ lastSeq, updatedAt: updatedAt - 1 })).toBe('moved')
        const lease = await store.acquireLease('chat', 'another holder', 60_000)
        expect(await rebuild({ lastSeq, updatedAt })).toBe('held')
        expect((await read(upkeep, 'chat'))!.conversation.title).toBe(conversation.title)
        await store.releaseLease('chat', lease!.epoch)
        expect(await rebuild({ lastSeq, updatedAt })).toBe('ok')
        expect((await read(upkeep, 'chat'))!.conversation).toEqual({ ...conversation, ...columns })
      },
    )

    testUpkeep('only unneeded rows are collected, and counted before', async ({ store, upkeep, pass }) => {
      await fill(store, 'chat')
      await store.putBlob(Buffer.from('never sent'), 'text/plain')
      await pass(5)
      const collect = (what: 'model_calls' | 'blobs' | 'pins' | 'orphans' | 'derived_orphans', isDryRun: boolean) =>
        upkeep.collect({ what, tenant: null, olderThanMs: 2, limit: 100, isDryRun })
      expect(await collect('blobs', false)).toEqual({ rows: 0, bytes: 0 })
      for (const isDryRun of [true, false]) expect(await collect('pins', isDryRun)).toEqual({ rows: 1, bytes: 0 })
      for (const isDryRun of [true, false]) expect(await collect('blobs', isDryRun)).toEqual({ rows: 1, bytes: 10 })
      expect(await collect('blobs', true)).toEqual({ rows: 0, bytes: 0 })
      const audited = (await store.modelCalls('chat')).length
      for (const isDryRun of [true, false]) expect((await collect('model_calls', isDryRun)).rows).toBe(audited)
      expect(await store.modelCalls('chat')).toEqual([])
      expect(await collect('orphans', false)).toEqual({ rows: 0, bytes: 0 })
      expect(await collect('derived_orphans', false)).toEqual({ rows: 0, bytes: 0 })
      expect((await read(upkeep, 'chat'))!.blobs.length).toBe(1)
    })

    testUpkeep(
      'the schema versions are reported, and migrating a current store changes nothing',
      async ({ upkeep }) => {
        const { known } = await upkeep.migrate()
        expect(await upkeep.schema()).toEqual({ found: known, known })
      },
    )
  })
}

/** Writes a row of every type. */
async function fill(store: Store, id: string): Promise<void> {
  const ref = await store.putBlob(Buffer.from('a picture'), 'image/png')
  await store.commit(id, wholeChange(ref))
  await store.putSummary(id, { fromSeq: 1, toSeq: 1, content: { text: 'so far' }, version: 1, base: null })
  for (const turnRef of ['b', 'a', 'b']) await store.putModelCall(id, { turnRef, renderedContext: { of: turnRef } })
}

/** A change with everything it can contain, and text that is hard to store. */
function wholeChange(ref: BlobRef): Change {
  const file = { type: 'file' as const, mediaType: ref.mediaType, data: ref }
  const text = { type: 'text' as const, text: 'NUL \u0000, half \ud800, \u2028 and "quotes" \\ {NULL}' }
  return {
    events: [userMsgOf([text, file]), assistantMsg(), toolCall('one'), suspension('one')],
    key: 'whole',
    digest: 'of it',
    calls: [{ id: 'one', name: 'refund "it"', args: { cents: -0 }, prompt: null, expiresInMs: 60_000 }],
    conversation: {
      agent: 'support',
      title: 'Té\u0000',
      settings: { colour: 'red' },
      parent: { id: 'x', callId: 'y' },
    },
    fsmState: fsmState('awaiting_input', 4),
    wakeAt: { inMs: 50_000 },
  }
}

function refOf(blob: string): BlobRef {
  return { blob, mediaType: 'image/png', size: 9 }
}

type Read = {
  readonly conversation: UpkeepConversation
  readonly rows: readonly ConversationRow[]
  readonly blobs: readonly { hash: string; mediaType: string; pins: number; bytes: Uint8Array }[]
}

function read(upkeep: Upkeep, id: string): Promise<Read | null> {
  return upkeep.snapshot(async (reader) => {
    const conversation = await reader.conversation('default', id)
    if (!conversation) return null
    const heads = await all(reader.blobs('default'))
    const blobs = await Promise.all(
      heads.map(async ({ hash, mediaType, pins }) => {
        const bytes = (await reader.blobBytes('default', hash))!
        return { hash, mediaType, pins, bytes: new Uint8Array(bytes) }
      }),
    )
    return { conversation, rows: await all(reader.rows('default', id)), blobs }
  })
}

function restore(upkeep: Upkeep, { conversation, rows }: Read) {
  const given = async function* (): AsyncGenerator<ConversationRow> {
    yield* rows
  }
  return upkeep.restoreConversation('default', conversation, given())
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

export function modelCalls({ describe, test, testWithoutAudit, expect, refused }: Suite): void {
  describe('model calls', () => {
    test('the record of a model call is read back', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const call = {
        turnRef: 'turn-1/0',
        renderedContext: [{ role: 'user', content: 'hello' }],
        model: { provider: 'test', modelId: 'test-1' },
        usage: { inputTokens: 3 },
        latencyMs: 120,
        status: 'failed',
        summaryVersion: 2,
        evictions: [{ callId: 'call', why: 'age' }],
        at: 1_700_000_000_000,
        meta: { ticket: 7 },
      }
      await store.putModelCall('chat', call)
      expect(await store.modelCalls('chat')).toEqual([call])
    })

    test('absent members are null, with status ok and the time of the store', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      await store.putModelCall('chat', { turnRef: 'turn-1/0' })
      const [call] = await store.modelCalls('chat')
      const { at, ...rest } = call!
      expect(rest).toEqual({
        turnRef: 'turn-1/0',
        renderedContext: null,
        model: null,
        usage: null,
        latencyMs: null,
        status: 'ok',
        summaryVersion: null,
        evictions: null,
        meta: null,
      })
      const { createdAt } = (await store.getConversation('chat'))!
      expect(at).toBeGreaterThanOrEqual(createdAt)
      expect(at - createdAt).toBeLessThan(60_000)
    })

    test('calls come by the bytes of their turnRef, then in the order they were put', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const refs = ['b', '😀', 'a', '～', 'B', 'a', 'é', 'a', '10', '9']
      for (const [index, turnRef] of refs.entries()) {
        await store.putModelCall('chat', { turnRef, latencyMs: index, at: 1_000 - index })
      }
      const calls = await store.modelCalls('chat')
      expect(calls.map((call) => [call.turnRef, call.latencyMs])).toEqual([
        ['10', 8],
        ['9', 9],
        ['B', 4],
        ['a', 2],
        ['a', 5],
        ['a', 7],
        ['b', 0],
        ['é', 6],
        ['～', 3],
        ['😀', 1],
      ])
    })

    test('only calls older than the time to live are removed, and they are counted', async ({ store, pass }) => {
      await store.appendEvent('chat', userMsg())
      await store.appendEvent('other', userMsg())
      const { createdAt } = (await store.getConversation('chat'))!
      const hour = 3_600_000
      for (const age of [3, 2, 0]) {
        await store.putModelCall('chat', { turnRef: `${age} hours`, at: createdAt - age * hour })
      }
      await store.putModelCall('other', { turnRef: 'elsewhere', at: 0 })
      expect(await store.gcModelCalls('chat', 4 * hour)).toBe(0)
      expect(await store.gcModelCalls('chat', 1.5 * hour)).toBe(2)
      expect((await store.modelCalls('chat')).map((call) => call.turnRef)).toEqual(['0 hours'])
      await pass(5)
      expect(await store.gcModelCalls('chat', 0)).toBe(1)
      expect(await store.modelCalls('chat')).toEqual([])
      expect((await store.modelCalls('other')).length).toBe(1)
      expect(await store.gcModelCalls('absent', 0)).toBe(0)
    })

    test('a model call of an unknown conversation, or with invalid numbers, is refused', async ({ store }) => {
      await refused('conversation_not_found', () => store.putModelCall('absent', { turnRef: 'turn' }))
      await store.appendEvent('chat', userMsg())
      const senseless: NewModelCall[] = [
        { turnRef: 'turn', at: -1 },
        { turnRef: 'turn', at: 1.5 },
        { turnRef: 'turn', latencyMs: -1 },
        { turnRef: 'turn', latencyMs: Number.NaN },
        { turnRef: 'turn', summaryVersion: 0.5 },
      ]
      for (const call of senseless) await refused('invalid_argument', () => store.putModelCall('chat', call))
      expect(await store.modelCalls('chat')).toEqual([])
      expect(await store.modelCalls('absent')).toEqual([])
    })

    testWithoutAudit('a store without audit keeps no model calls', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      await store.putModelCall('chat', { turnRef: 'turn' })
      await store.putModelCall('absent', { turnRef: 'turn' })
      expect(await store.modelCalls('chat')).toEqual([])
      expect(await store.gcModelCalls('chat', 0)).toBe(0)
      await refused('invalid_value', () => store.putModelCall('chat', { turnRef: 'turn', usage: Number.NaN }))
    })
  })
}
