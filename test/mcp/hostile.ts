/** What a hostile server does, and to which method. */
export type Attack = { readonly method: string; readonly kind: (typeof attackKinds)[number]; readonly seed: number }

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

const attackedMethods = ['initialize', 'tools/list', 'tools/call'] as const

/** What is written without end. */
export type Flood = { readonly flood: string; readonly everyMs?: number }

/** The reader of a flood of requests gets no answer read. */
export function neverReads({ kind }: Attack): boolean {
  return kind === 'flood_pings' || kind === 'flood_questions'
}

export function readAttack(text: string): Attack {
  const [method = '', kind = '', seed = '0'] = text.split(' ')
  return { method, kind: kind as Attack['kind'], seed: Number(seed) }
}

/** Small and deterministic: the same seed makes the same attacks. Each kind once, then `count` of any. */
export function attacksOf(seed: number, count: number): Attack[] {
  let state = seed
  const next = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    // The low bits of such numbers repeat.
    return Math.floor(state / 65_536)
  }
  const own: { readonly [kind: string]: string } = { odd_question: 'tools/call', odd_form: 'tools/call' }
  const all = attackKinds.map((kind): Attack => ({ kind, method: own[kind] ?? 'tools/list', seed: next() % 8 }))
  return [
    ...all,
    ...Array.from(
      { length: count },
      (): Attack => ({
        kind: attackKinds[next() % attackKinds.length]!,
        method: attackedMethods[next() % attackedMethods.length]!,
        seed: next() % 12,
      }),
    ),
  ]
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
  return [
    JSON.stringify(
      result ? { jsonrpc: '2.0', id, result } : { jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown' } },
    ),
  ]
}

function honest(method: string, params: Message['params'], { kind }: Attack): object | null {
  if (method === 'initialize') {
    const serverInfo = { name: 'hostile', version: '1' }
    const capabilities = { tools: { listChanged: true }, logging: {} }
    return { protocolVersion: params?.['protocolVersion'], capabilities, serverInfo }
  }
  const annotations = { readOnlyHint: true }
  if (method === 'tools/list') return { tools: [{ name: 'act', inputSchema: { type: 'object' }, annotations }] }
  if (method !== 'tools/call' || kind === 'odd_question') return null
  return { content: [{ type: 'text', text: 'ok' }], structuredContent: { text: 'a'.repeat(40) } }
}

function attacked(id: unknown, params: Message['params'], { kind, seed }: Attack): (string | Flood)[] {
  const reply = (result: unknown): string[] => [JSON.stringify({ jsonrpc: '2.0', id, result })]
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
      return [
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"tools":[],"structuredContent":{"a":[${'{},'.repeat([1_300_000, 5_000_000][seed % 2]!)}{}]}}}`,
      ]
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
      return [`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`]
    case 'foreign_ids':
      return [
        ...Array.from({ length: 200 }, (_, index) =>
          JSON.stringify({ jsonrpc: '2.0', id: 10_000 + index, result: {} }),
        ),
        ...reply({}),
      ]
    case 'endless_pages':
      return reply({ tools: [tool(`page${seed}`)], nextCursor: `more ${seed}`, content: [] })
    case 'prototype_keys':
      return [
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"__proto__":{"polluted":1},"tools":[{"name":"__proto__","inputSchema":{"type":"object","properties":{"__proto__":{"type":"string"}}}}],"content":[{"type":"text","text":"x","__proto__":{"polluted":1}}]}}`,
      ]
    case 'odd_question':
      return reply({
        resultType: 'input_required',
        inputRequests: {
          q: { method: 'elicitation/create', params: { message: 'x', mode: 'url', url: 'javascript:alert(1)' } },
        },
        requestState: 'x'.repeat(seed * 10_000),
      })
    case 'odd_form': {
      const slow = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } }
      const huge = { type: 'object', enum: Array.from({ length: 20_000 }, (_, index) => ({ index })) }
      const requestedSchema = [slow, { type: 'object', $ref: '#' }, huge, { type: 'object', properties: 7 }][seed % 4]
      const inputRequests = { q: { method: 'elicitation/create', params: { message: '\u001b[31mx', requestedSchema } } }
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
