/** What a hostile server does, and to which method. */
export type Attack = { readonly method: string; readonly kind: (typeof attackKinds)[number]; readonly seed: number }

export const attackKinds = [
  'wrong_json',
  'not_rpc',
  'wrong_shape',
  'endless',
  'giant_result',
  'giant_list',
  'cyclic_schema',
  'huge_schema',
  'slow_pattern',
  'control_names',
  'same_names',
  'deep',
  'foreign_ids',
  'endless_pages',
  'prototype_keys',
  'odd_question',
] as const

export const attackedMethods = ['initialize', 'tools/list', 'tools/call'] as const

export function readAttack(text: string): Attack {
  const [method = '', kind = '', seed = '0'] = text.split(' ')
  return { method, kind: kind as Attack['kind'], seed: Number(seed) }
}

type Message = {
  readonly id?: unknown
  readonly method?: string
  readonly params?: { readonly [key: string]: unknown }
}

/** The lines a server answers a message with; `endless`: bytes without end. */
export function hostileAnswer({ id, method = '', params = {} }: Message, attack: Attack): string[] {
  if (id === undefined) return []
  if (method === attack.method) return attacked(id, attack)
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
    return { protocolVersion: params?.['protocolVersion'], capabilities: { tools: {} }, serverInfo }
  }
  const annotations = { readOnlyHint: true }
  if (method === 'tools/list') return { tools: [{ name: 'act', inputSchema: { type: 'object' }, annotations }] }
  return method === 'tools/call' && kind !== 'odd_question' ? { content: [{ type: 'text', text: 'ok' }] } : null
}

function attacked(id: unknown, { kind, seed }: Attack): string[] {
  const reply = (result: unknown): string[] => [JSON.stringify({ jsonrpc: '2.0', id, result })]
  const list = (tools: unknown): string[] => reply({ tools })
  const tool = (name: unknown, inputSchema: unknown = { type: 'object' }) => ({
    name,
    inputSchema,
    annotations: { readOnlyHint: true },
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
      return ['endless']
    case 'giant_result':
      return reply({ content: [{ type: 'text', text: 'x'.repeat(3_000_000) }], tools: [] })
    case 'giant_list':
      return list(Array.from({ length: 5_000 }, (_, index) => tool(`t${index}`)))
    case 'cyclic_schema':
      return list([
        tool('act', { type: 'object', $ref: '#' }),
        tool('b', { type: 'object', properties: { a: { $ref: '#/properties/a' } } }),
      ])
    case 'huge_schema':
      return list([tool('act', { type: 'object', enum: Array.from({ length: 20_000 }, (_, index) => ({ index })) })])
    case 'slow_pattern':
      return list([tool('act', { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } })])
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
  }
}
