/** What a hostile server does, to which method, and which protocol it speaks: the older one, or that of 2026-07-28. */
export type Attack = {
  readonly method: string
  readonly kind: (typeof attackKinds)[number]
  readonly seed: number
  readonly era: Era
}
type Era = (typeof eras)[number]

const eras = ['older', 'newest'] as const

export const attackKinds = [
  'wrong_json',
  'not_rpc',
  'wrong_shape',
  'endless',
  'giant_result',
  'giant_list',
  'many_values',
  'cyclic_schema',
  'huge_schema',
  'slow_pattern',
  'output_schema',
  'control_names',
  'same_names',
  'deep',
  'foreign_ids',
  'twice',
  'endless_pages',
  'prototype_keys',
  'odd_question',
  'odd_form',
  'flood_pings',
  'flood_questions',
  'flood_notifications',
  'flood_changes',
  'flood_invalid',
  'flood_answers',
  'drip',
  'silent',
  'failure',
] as const

const attackedMethods: { readonly [era in Era]: readonly string[] } = {
  older: ['initialize', 'tools/list', 'tools/call'],
  newest: ['server/discover', 'subscriptions/listen', 'tools/list', 'tools/call'],
}

/** What is written without end. */
export type Flood = { readonly flood: string; readonly everyMs?: number }

/** The reader of a flood of requests gets no answer read. */
export function neverReads({ kind }: Attack): boolean {
  return kind === 'flood_pings' || kind === 'flood_questions'
}

export function readAttack(text: string): Attack {
  const [method = '', kind = '', seed = '0', era = 'older'] = text.split(' ')
  return { method, kind: kind as Attack['kind'], seed: Number(seed), era: era as Era }
}

export function attackText({ method, kind, seed, era }: Attack): string {
  return `${method} ${kind} ${seed} ${era}`
}

/** Small and deterministic: the same seed makes the same attacks. Each kind once in each protocol, then `count` of any. */
export function attacksOf(seed: number, count: number): Attack[] {
  let state = seed
  const next = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    // The low bits of such numbers repeat.
    return Math.floor(state / 65_536)
  }
  const one = <T>(all: readonly T[]): T => all[next() % all.length]!
  const own: { readonly [kind: string]: string } = {
    odd_question: 'tools/call',
    odd_form: 'tools/call',
    twice: 'tools/call',
  }
  const all = eras.flatMap((era) =>
    attackKinds.map((kind): Attack => ({ kind, method: own[kind] ?? 'tools/list', seed: next() % 8, era })),
  )
  const more = Array.from({ length: count }, (): Attack => {
    const era = one(eras)
    return { kind: one(attackKinds), method: one(attackedMethods[era]), seed: next() % 12, era }
  })
  return [...all, ...more]
}

type Message = {
  readonly id?: unknown
  readonly method?: string
  readonly params?: { readonly [key: string]: unknown }
}

/** The lines a server answers a message with. */
export function hostileAnswer({ id, method = '', params = {} }: Message, attack: Attack): (string | Flood)[] {
  if (id === undefined || method === '') return []
  if (method === attack.method) return attacked(id, params, attack)
  const result = honest(method, params, attack)
  const error = { code: -32601, message: 'unknown' }
  return [JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result: inEra(result, attack) } : { error }) })]
}

/** What each result of the newest protocol has. */
const newestMembers = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }

function inEra(result: unknown, { era }: Attack): unknown {
  const isObject = typeof result === 'object' && result !== null && !Array.isArray(result)
  return era === 'newest' && isObject ? { ...newestMembers, ...result } : result
}

function honest(method: string, params: Message['params'], { kind, era }: Attack): object | null {
  const capabilities = { tools: { listChanged: true }, logging: {} }
  if (method === 'initialize' && era === 'older') {
    return { protocolVersion: params?.['protocolVersion'], capabilities, serverInfo: { name: 'hostile', version: '1' } }
  }
  if (method === 'server/discover' && era === 'newest') return { supportedVersions: ['2026-07-28'], capabilities }
  const annotations = { readOnlyHint: true }
  if (method === 'tools/list') return { tools: [{ name: 'act', inputSchema: { type: 'object' }, annotations }] }
  if (method !== 'tools/call' || kind === 'odd_question') return null
  return { content: [{ type: 'text', text: 'ok' }], structuredContent: { text: 'a'.repeat(40) } }
}

function attacked(id: unknown, params: Message['params'], attack: Attack): (string | Flood)[] {
  const { kind, seed, era } = attack
  const reply = (result: unknown): string[] => [JSON.stringify({ jsonrpc: '2.0', id, result: inEra(result, attack) })]
  const replyText = (members: string): string[] => {
    const first = era === 'newest' ? `${JSON.stringify(newestMembers).slice(1, -1)},` : ''
    return [`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${first}${members}}}`]
  }
  const list = (tools: unknown): string[] => reply({ tools })
  const flood = (message: object): Flood[] => [{ flood: `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n` }]
  const tool = (name: unknown, inputSchema: unknown = { type: 'object' }, more: object = {}) => ({
    name,
    inputSchema,
    annotations: { readOnlyHint: true },
    ...more,
  })
  switch (kind) {
    case 'wrong_json':
      return ['{"jsonrpc": "2.0", "id":', `{{{${'['.repeat(seed)}`, '\u0000\u0001']
    case 'not_rpc':
      return ['null', '[]', '"text"', `${seed}`, '{"jsonrpc":"1.0"}', JSON.stringify({ id, result: {} })]
    case 'wrong_shape':
      return reply(
        [
          null,
          7,
          'text',
          [],
          { tools: 7, content: 'no', protocolVersion: [] },
          { content: [{ type: 7 }], tools: [null] },
        ][seed % 6],
      )
    case 'endless':
      return [{ flood: 'x'.repeat(65_536) }]
    case 'giant_result':
      return reply({ content: [{ type: 'text', text: 'x'.repeat(3_000_000) }], tools: [] })
    case 'giant_list':
      return list(Array.from({ length: 5_000 }, (_, index) => tool(`t${index}`)))
    case 'many_values':
      return replyText(
        `"content":[],"tools":[],"structuredContent":{"a":[${'{},'.repeat([1_300_000, 5_000_000][seed % 2]!)}{}]}`,
      )
    case 'cyclic_schema':
      return list([
        tool('act', { type: 'object', $ref: '#' }),
        tool('b', { type: 'object', properties: { a: { $ref: '#/properties/a' } } }),
      ])
    case 'huge_schema':
      return list([tool('act', { type: 'object', enum: Array.from({ length: 20_000 }, (_, index) => ({ index })) })])
    case 'slow_pattern':
      return list([tool('act', { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } })])
    case 'output_schema': {
      const properties = { text: { type: 'string', pattern: '^(a+)+$' } }
      const schemas = [{ $ref: '#' }, { type: 'object', properties }, { type: 'object', $ref: 'http://127.0.0.1:9/x' }]
      return list([tool('act', { type: 'object' }, { outputSchema: schemas[seed % 3] })])
    }
    case 'control_names':
      return list([tool('a\u0000b'), tool('\u001b[31m'), tool(''), tool('x'.repeat(500)), tool('ok.name/with space')])
    case 'same_names':
      return list([tool('act'), tool('act'), tool('act')])
    case 'deep':
      return replyText(
        `"content":[],"tools":[],"structuredContent":${'{"a":'.repeat([600, 20_000][seed % 2]!)}1${'}'.repeat([600, 20_000][seed % 2]!)}`,
      )
    case 'foreign_ids':
      return [
        ...Array.from({ length: 200 }, (_, index) =>
          JSON.stringify({ jsonrpc: '2.0', id: 10_000 + index, result: {} }),
        ),
        ...reply({}),
      ]
    case 'twice': {
      const inputRequests = { q: asking(form) }
      return [
        ...reply({ tools: [tool('act')], content: [{ type: 'text', text: 'first' }] }),
        ...reply({ resultType: 'input_required', inputRequests, requestState: 's' }),
        ...reply({ tools: [tool('other')], content: [{ type: 'text', text: 'second' }], isError: true }),
      ]
    }
    case 'endless_pages':
      return reply({ tools: [tool(`page${seed}`)], nextCursor: `more ${seed}`, content: [] })
    case 'prototype_keys':
      return replyText(
        '"__proto__":{"polluted":1},"tools":[{"name":"__proto__","inputSchema":{"type":"object","properties":{"__proto__":{"type":"string"}}}}],"content":[{"type":"text","text":"x","__proto__":{"polluted":1}}]',
      )
    case 'odd_question':
      return reply({ resultType: 'input_required', ...oddQuestion(seed) })
    case 'odd_form': {
      const slow = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } }
      const huge = { type: 'object', enum: Array.from({ length: 20_000 }, (_, index) => ({ index })) }
      const requestedSchema = [
        slow,
        { type: 'object', properties: {}, $ref: '#' },
        { ...huge, properties: {} },
        { type: 'object', properties: 7 },
      ][seed % 4]
      const inputRequests = { q: asking({ message: '\u001b[31mx', requestedSchema }) }
      return reply({ resultType: 'input_required', inputRequests, requestState: 's' })
    }
    case 'flood_pings':
      return flood({ id: 'p', method: 'ping' })
    case 'flood_questions': {
      const requestedSchema = { type: 'object', properties: {} }
      return flood({ id: 'q', method: 'elicitation/create', params: { message: 'x', requestedSchema } })
    }
    case 'flood_notifications': {
      const { progressToken = 0 } = Object(params?.['_meta']) as { readonly progressToken?: unknown }
      return flood({ method: 'notifications/progress', params: { progressToken, progress: 1, message: 'more' } })
    }
    case 'flood_changes':
      return flood({ method: 'notifications/tools/list_changed' })
    case 'flood_invalid':
      return [{ flood: '{}\n' }]
    case 'flood_answers':
      return flood({ id: 999_999, result: {} })
    case 'drip':
      return [{ flood: ' ', everyMs: 20 }]
    case 'silent':
      return [{ flood: '', everyMs: 60_000 }]
    case 'failure':
      return ['failure']
  }
}

const form = { mode: 'form', message: 'x', requestedSchema: { type: 'object', properties: {} } }
const asking = (params: object) => ({ method: 'elicitation/create', params })

/** A question that no person should see, or that no process should keep. */
function oddQuestion(seed: number): object {
  const many = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`q${index}`, asking(form)]))
  const url = (target: string) => asking({ mode: 'url', message: 'x', url: target, elicitationId: 'e' })
  const sampling = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }
  return [
    { inputRequests: { q: url('javascript:alert(1)') } },
    { inputRequests: { q: url('file:///etc/passwd') }, requestState: 's' },
    { inputRequests: { q: asking(form) }, requestState: 'x'.repeat(100_000) },
    { inputRequests: many },
    { inputRequests: { q: sampling } },
    { requestState: 'again' },
    { inputRequests: { q: asking({ ...form, message: 'x'.repeat(1_000_000) }) } },
    { inputRequests: JSON.parse(`{"__proto__":${JSON.stringify(asking(form))}}`) },
  ][seed % 8]!
}
