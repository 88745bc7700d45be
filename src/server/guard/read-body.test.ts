import { expect, test, vi } from 'vitest'
import { defaultLimits } from '../server-options.ts'
import { bodyChunks, checkMediaType, readBody } from './read-body.ts'

function sent(body: string | ReadableStream<Uint8Array> | null, headers: Record<string, string> = {}): Request {
  const all = { 'content-type': 'application/json', ...headers }
  return new Request('http://app.test/', { method: 'POST', body, headers: all, duplex: 'half' } as RequestInit)
}

function streamed(...chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
}

test('a body is the JSON it says, in pieces or whole, and nothing or blanks are an empty object', async () => {
  expect(await readBody(sent('{"a":[1,"b"]}'), defaultLimits)).toEqual({ a: [1, 'b'] })
  const euro = new TextEncoder().encode('"€"')
  expect(await readBody(sent(streamed(euro.slice(0, 2), euro.slice(2))), defaultLimits)).toBe('€')
  expect(await readBody(sent(null), defaultLimits)).toEqual({})
  expect(await readBody(sent(' \n'), defaultLimits)).toEqual({})
})

test('what is not JSON, or not UTF-8, is refused', async () => {
  await expect(readBody(sent('{"a":'), defaultLimits)).rejects.toThrow('it is not JSON')
  await expect(readBody(sent(streamed(new Uint8Array([0x22, 0xff, 0x22]))), defaultLimits)).rejects.toThrow('not UTF-8')
})

test('a body may have as many bytes as the limit, whether it declares them or not', async () => {
  const limits = { ...defaultLimits, bodyBytes: 5 }
  expect(await readBody(sent('"€"'), limits)).toBe('€')
  const tooLarge = expect.objectContaining({ code: 'request_too_large' })
  await expect(readBody(sent('"€a"'), limits)).rejects.toThrow(tooLarge)
  await expect(readBody(sent('1', { 'content-length': '6' }), limits)).rejects.toThrow(tooLarge)
  expect(await readBody(sent('1', { 'content-length': '5' }), limits)).toBe(1)
  await expect(readBody(sent(streamed(new Uint8Array(3), new Uint8Array(3))), limits)).rejects.toThrow(tooLarge)
})

test('a body that does not come in time, or breaks off, is refused and nothing waits for it any longer', async () => {
  const silent = new ReadableStream<Uint8Array>({})
  await expect(readBody(sent(silent), { ...defaultLimits, bodyMs: 20 })).rejects.toThrow('within 20 ms')
  const broken = new ReadableStream<Uint8Array>({ start: (controller) => controller.error(new Error('gone')) })
  await expect(readBody(sent(broken), defaultLimits)).rejects.toThrow('it broke off')
})

test('the rest of a body that is too long is not asked for', async () => {
  let pulled = 0
  let isCancelled = false
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      pulled += 1
      controller.enqueue(new Uint8Array(100))
    },
    cancel: () => {
      isCancelled = true
    },
  })
  await expect(readBody(sent(endless), { ...defaultLimits, bodyBytes: 250 })).rejects.toThrow('body')
  expect(isCancelled).toBe(true)
  expect(pulled).toBeLessThan(6)
})

test('JSON may be nested as deeply as the limit; brackets beside each other or in texts do not count', async () => {
  const limits = { ...defaultLimits, depth: 3 }
  expect(await readBody(sent('[{"a":[1]}]'), limits)).toEqual([{ a: [1] }])
  await expect(readBody(sent('[{"a":[{}]}]'), limits)).rejects.toThrow('it is nested deeper than 3 levels')
  await expect(readBody(sent('[[[[]]]]'), limits)).rejects.toThrow('deeper')
  expect(await readBody(sent('[[],[],{},{},[{}]]'), limits)).toEqual([[], [], {}, {}, [{}]])
  const text = String.raw`["[[[[ \" {{{{ \\"]`
  expect(await readBody(sent(text), limits)).toEqual(['[[[[ " {{{{ \\'])
})

test('a body must be declared as what is expected, in UTF-8 if it says so', () => {
  const declared = (type: string) => sent('{}', { 'content-type': type })
  for (const type of ['application/json', 'Application/JSON; charset=UTF-8', 'application/json;charset="utf-8"'])
    checkMediaType(declared(type), 'application/json')
  for (const type of ['text/plain', 'application/jsonx', 'application/json; charset=latin1', 'xapplication/json'])
    expect(() => checkMediaType(declared(type), 'application/json')).toThrow('application/json')
  checkMediaType(declared('application/x-ndjson'), 'application/x-ndjson')
  expect(() => checkMediaType(declared('application/json'), 'application/x-ndjson')).toThrow('application/x-ndjson')
  const undeclared = new Request('http://app.test/', { method: 'POST' })
  expect(() => checkMediaType(undeclared, 'application/json')).toThrow('application/json')
})

test('a body that is read in chunks leaves no timer behind, which would hold the process', async () => {
  vi.useFakeTimers()
  try {
    const chunks: number[] = []
    for await (const chunk of bodyChunks(sent(streamed(new Uint8Array(2), new Uint8Array(3))), 60_000))
      chunks.push(chunk.length)
    expect([chunks, vi.getTimerCount()]).toEqual([[2, 3], 0])
  } finally {
    vi.useRealTimers()
  }
})
