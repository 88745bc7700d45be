import { createClient } from 'perdure/client'
import { describe, expect, test } from 'vitest'
import { called, ended, madeLog, said, suspended, wrote } from '../inspector/made-log.ts'
import { exportFetch } from './export-fetch.ts'
import { readExport } from './read-export.ts'

const log = madeLog(
  ...[said('t1', 'hello'), wrote('t1', 'm1', 'Hi.'), ended('t1'), said('t2', 'pay')],
  ...[wrote('t2', 'm2', '', { parts: [{ type: 'call', callId: 'c1' }] }), called('t2', 'c1', 'pay', { gated: true })],
  suspended('c1'),
)
const conversation = (id: string, more: object = {}) => ({
  ...{ line: 'conversation', id, kind: 'conversation', agent: 'support', owner: 'eve', status: 'suspended' },
  ...{
    createdAt: 1,
    updatedAt: 2,
    wakeAt: null,
    isDormant: false,
    childOf: null,
    settings: {},
    title: 'Lamp',
    ...more,
  },
})
const rows = [
  ...log.map(({ seq, at, type, content }) => ({ line: 'event', seq, at, type, content })),
  {
    ...{ line: 'model_call', turnRef: 't1/0000', at: 5, latencyMs: 3, summaryVersion: null, status: 'ok' },
    ...{ model: { modelId: 'm' }, usage: {}, evictions: { seen: 1, evicted: [] }, renderedContext: [{ role: 'user' }] },
  },
  { line: 'conversation_end', rows: 8, sha256: '' },
]
const header = { format: 'perdure.export', version: 1, tenant: null }
const lines: object[] = [
  ...[
    header,
    { line: 'tenant', tenant: 'acme' },
    { line: 'blob', hash: 'h', mediaType: 'text/plain', pins: 0, size: 2 },
  ],
  ...[{ line: 'bytes', data: btoa('ok') }, conversation('ticket-42'), ...rows],
  ...[conversation('fork', { parent: { id: 'ticket-42', at: 3 } }), ...rows.slice(0, 3), { line: 'conversation_end' }],
  ...[
    { line: 'something_new', x: 1 },
    { line: 'end', conversations: 2, lines: 16, sha256: '' },
  ],
]
const textOf = (of: readonly object[]): string => of.map((line) => `${JSON.stringify(line)}\n`).join('')
const read = (text: string | Uint8Array<ArrayBuffer>, chunk = 7) => {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text
  let from = 0
  return readExport(
    new ReadableStream({
      pull(controller) {
        if (from >= bytes.length) return controller.close()
        controller.enqueue(bytes.slice(from, from + chunk))
        from += chunk
      },
    }),
  )
}
const opened = async () => {
  const { tenants } = await read(textOf(lines), 100_000)
  return createClient({ url: 'http://file.invalid', fetch: exportFetch(tenants[0]!) })
}

describe('a file that perdure export wrote', () => {
  test('is read in chunks of any size, with what later versions add left out', async () => {
    const { tenants, problem } = await read(textOf(lines))
    expect(problem).toBeNull()
    expect(tenants[0]!.conversations.get('ticket-42')).toMatchObject({
      events: log.map((event) => ({ ...event, conversationId: 'ticket-42' })),
    })
    expect([...tenants[0]!.conversations.keys()]).toEqual(['ticket-42', 'fork'])
  })

  test('that is cut off shows what came before', async () => {
    const whole = textOf(lines)
    const { tenants, problem } = await read(whole.slice(0, whole.indexOf('"suspension"')))
    expect(problem).toMatch(/^Line 12: /)
    expect(tenants[0]!.conversations.get('ticket-42')!.events).toHaveLength(6)
    expect((await read(textOf(lines.slice(0, -1)))).problem).toContain('cut off')
  })

  test('with a gap in a log, a line that is not JSON, or rows of nothing is read up to there', async () => {
    const gap = [...lines.slice(0, 6), lines[8]!]
    expect((await read(textOf(gap))).problem).toBe(
      'Line 7: Event 4 does not follow event 1. Everything before it is shown.',
    )
    expect((await read(`${textOf(lines.slice(0, 6))}oops\n`)).problem).toMatch(/^Line 7: This is not a line/)
    const broken = { line: 'problem', problem: { detail: 'The store is gone.' } }
    expect((await read(textOf([...lines.slice(0, 6), broken]))).problem).toContain('broke off: The store is gone.')
    expect((await read(textOf([header, rows[0]!]))).problem).toMatch(/^Line 2: It belongs to no/)
  })

  test.each([
    ['', 'The file is empty.'],
    ['hello\n', 'This is not a line of an export.'],
    ['{"a":1}\n', 'This file was not written by perdure export.'],
    [textOf([{ ...header, version: 2 }]), 'version 2'],
  ])('%j is refused', async (text, why) => {
    await expect(read(text)).rejects.toThrow(why)
  })

  test('that is not text is refused', async () => {
    await expect(read(new Uint8Array([0xff, 0xfe, 0xfd, 0x0a]))).rejects.toThrow('not text')
  })
})

describe('the client on a file', () => {
  test('reads views of any moment, events, forks, model calls and explanations', async () => {
    const client = await opened()
    const { conversations } = await client.conversations({})
    expect(conversations.map(({ id, status }) => [id, status])).toEqual([
      ['ticket-42', 'waiting'],
      ['fork', 'waiting'],
    ])
    const ticket = client.conversation('ticket-42')
    expect((await ticket.view()).pending.map(({ callId }) => callId)).toEqual(['c1'])
    expect((await ticket.events({ after: 2, limit: 2 })).map(({ seq }) => seq)).toEqual([3, 4])
    expect((await ticket.events({ limit: 2 })).map(({ seq }) => seq)).toEqual([6, 7])
    expect((await ticket.forks()).map(({ id }) => id)).toEqual(['fork'])
    expect(await client.conversation('fork').lineage()).toEqual([{ id: 'ticket-42', at: 3 }])
    expect(await ticket.modelCalls()).toHaveLength(1)
    expect((await ticket.modelCall('t1/0000'))[0]!.renderedContext).toEqual([{ role: 'user' }])
    expect((await ticket.explain('t1/0000')).slice(0, 2)).toMatchObject([{ shown: 'verbatim' }, { shown: 'not_shown' }])
  })

  test('streams what there is, once', async () => {
    const stop = new AbortController()
    for await (const { event } of (await opened()).conversation('ticket-42').watch({ signal: stop.signal })) {
      expect(event).toMatchObject({ type: 'snapshot', view: { seq: 7 } })
      stop.abort()
    }
  })

  test('changes nothing', async () => {
    const ticket = (await opened()).conversation('ticket-42')
    await expect(ticket.send('hi')).rejects.toMatchObject({
      message: expect.stringContaining('nothing in it can be changed'),
    })
    await expect(ticket.fork({ at: 2 })).rejects.toThrow('file')
    await expect((await opened()).conversation('nope').view()).rejects.toMatchObject({ code: 'conversation_not_found' })
  })
})
