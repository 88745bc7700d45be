import { expect, test } from 'vitest'
import { encode } from '../log/codec.ts'
import { userMsg } from '../log/validate-event.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import type { EventRange } from '../store/store.ts'
import { RestReader } from './rest-reader.ts'
import type { Spans } from './span-record.ts'

const ref = { tenant: 'acme', id: 'c' }
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

test('of a turn that is larger than the process, the newest events are read, and the first', async () => {
  const store = memoryStore().forTenant(ref.tenant)
  const lastSeq = 40
  for (let n = 1; n <= lastSeq; n++) {
    const parts = [{ type: 'text' as const, text: 'x'.repeat(900_000) }]
    const first = n === 1 ? { traceparent } : {}
    await store.appendEvent(ref.id, userMsg({ turnId: 't1', message: { parts }, options: {}, who: 'ann', ...first }))
  }
  let bytes = 0
  const counted = {
    ...store,
    async streamEvents(id: string, range?: EventRange) {
      const events = await store.streamEvents(id, range)
      bytes += Buffer.byteLength(encode(events))
      return events
    },
  }
  const told: Spans[] = []
  const problems: unknown[] = []
  const reader = new RestReader({
    content: false,
    spans: (spans) => told.push(spans),
    dropped: (error) => problems.push(error),
  })
  const place = { turnId: 't1', firstSeq: 1, lastSeq, heldFrom: 0 }
  reader.add({ type: 'rested', ref, name: 'helper', ...place, store: counted })
  await reader.flush()
  expect(problems).toEqual([])
  expect(told).toMatchObject([{ traceparent }])
  expect(bytes).toBeLessThan(6_000_000)
})
