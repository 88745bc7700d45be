import { turnIdOf } from '../../../src/runtime/send-message.ts'
import type { SeededRandom } from '../../faults/harness/seeded-random.ts'
import { doubling } from '../../schemas/hostile-pairs.ts'

/** Texts that have broken servers before. */
const texts = [
  '',
  ' ',
  '.',
  '..',
  '../../etc/passwd',
  '%',
  '%00',
  '%2e%2e%2f',
  '%c0%af',
  '\u0000',
  '\ud800',
  'ü🎈',
  '\u202e',
  "' OR 1=1 --",
  '{{7*7}}',
  '<script>',
  '__proto__',
  'constructor',
  'toString',
  'null',
  '-1',
  '1e999',
  'x'.repeat(300),
  'x'.repeat(3000),
  'c1',
  'c2',
  's1',
  'helper',
  'greeting',
]

const values = [null, true, false, 0, -0, -1, 1.5, 1e308, 2 ** 53, [], {}, [[[]]], { a: 1 }]

export function hostileText(random: SeededRandom): string {
  return random.pick(texts)
}

/** A value that may be anything, also what a route takes. */
export function hostileValue(random: SeededRandom, names: readonly string[], depth = 0): unknown {
  if (depth > 3 || random.chance(0.3)) return random.chance(0.5) ? hostileText(random) : random.pick(values)
  if (random.chance(0.2)) return Array.from({ length: random.int(0, 3) }, () => hostileValue(random, names, depth + 1))
  const members = Array.from({ length: random.int(0, 4) }, () => [
    random.chance(0.8) ? random.pick(names) : hostileText(random),
    hostileValue(random, names, depth + 1),
  ])
  return Object.fromEntries(members)
}

/** A schema that costs much to check anything against, or that no value is ever checked against. */
export function hostileSchema(random: SeededRandom): unknown {
  return random.pick([
    ...[
      doubling(40),
      doubling(17),
      { $ref: '#' },
      { pattern: '^(a+)+$' },
      { pattern: '(.*a){25}$' },
      { pattern: '(a)\\1' },
    ],
    ...[
      { anyOf: [{ $ref: '#/$defs/x' }] },
      { properties: 5 },
      { format: 'regex' },
      { minLength: 1, not: { const: 1 } },
      false,
    ],
  ])
}

const addresses = [
  'https://example.com/a.png',
  'javascript:alert(1)',
  'file:///etc/passwd',
  'blob:x',
  '//x',
  'data:,x',
  'data:;base64,%',
  `data:;base64,${'A'.repeat(50_000)}`,
  'http://',
  'https://user:pass@example.com',
]

/** A message: text, or a file at an address that must not be opened. */
export function hostileMessage(random: SeededRandom): unknown {
  if (random.chance(0.7)) return 'Hi'
  return [
    { type: 'text', text: 'Hi' },
    { type: 'file', mediaType: hostileText(random), data: random.pick(addresses) },
  ]
}

/** What a page might post as the messages of its chat, or nearly: the last one asks, or goes on with a turn that is there. */
export function hostileMessages(random: SeededRandom): unknown[] {
  const key = random.pick(['k1', 'k2', 'k3'])
  const asks = {
    id: key,
    role: 'user',
    parts: [{ type: 'text', text: 'Hi' }, ...hostileParts(random), ...hostileFile(random)],
  }
  const goesOn = { id: turnIdOf(key), role: 'assistant', parts: hostileParts(random) }
  const past = random.chance(0.3) ? [hostileValue(random, ['id', 'role', 'parts'])] : []
  return [...past, random.chance(0.6) ? asks : goesOn]
}

function hostileFile(random: SeededRandom): unknown[] {
  return random.chance(0.3) ? [{ type: 'file', mediaType: 'image/png', url: random.pick(addresses) }] : []
}

function hostileParts(random: SeededRandom): unknown[] {
  const names = [
    'toolCallId',
    'state',
    'input',
    'output',
    'approval',
    'id',
    'approved',
    'text',
    'url',
    'mediaType',
    'data',
  ]
  const types = [
    'step-start',
    'text',
    'reasoning',
    'file',
    'tool-publish',
    'dynamic-tool',
    'data-question',
    'source-url',
  ]
  return Array.from({ length: random.int(0, 4) }, () => ({
    ...Object(hostileValue(random, names, 2)),
    type: random.chance(0.9) ? random.pick(types) : hostileText(random),
  }))
}

/** Requests that are none, or nearly. */
export function rawBytes(random: SeededRandom, port: number): string {
  const host = `Host: 127.0.0.1:${port}`
  return random.pick([
    `GET / HTTP/9.9\r\n${host}\r\n\r\n`,
    `GET /conversations HTTP/1.1\r\n\r\n`,
    `GET http://evil.example/conversations HTTP/1.1\r\n${host}\r\n\r\n`,
    `OPTIONS * HTTP/1.1\r\n${host}\r\n\r\n`,
    `TRACE /conversations HTTP/1.1\r\n${host}\r\n\r\n`,
    `CONNECT evil.example:443 HTTP/1.1\r\n${host}\r\n\r\n`,
    `POST /conversations/c1/messages HTTP/1.1\r\n${host}\r\nContent-Length: -5\r\n\r\n`,
    `POST /conversations/c1/messages HTTP/1.1\r\n${host}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `POST /conversations/c1/cancel HTTP/1.1\r\n${host}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`,
    `GET /conversations HTTP/1.1\r\n${host}\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`,
    `GET /conversations HTTP/1.1\r\n${host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
    `GET /conversations/%zz/view HTTP/1.1\r\n${host}\r\n\r\n`,
    `GET //conversations HTTP/1.1\r\n${host}\r\n\r\n`,
    `GET /conversations\u0001 HTTP/1.1\r\n${host}\r\n\r\n`,
    `\r\n\r\n\r\n`,
    `\u0016\u0003\u0001\u0002\u0000\u0001\u0000`,
    `GET /health HTTP/1.1\r\n${host}\r\nHost: evil.example\r\n\r\n`,
    `GET /health HTTP/1.1\r\nHost: [::1\r\n\r\n`,
    `GET /health HTTP/1.1\r\nHost: a b\r\n\r\n`,
  ])
}
