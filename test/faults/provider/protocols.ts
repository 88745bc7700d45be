/** What the fake provider says in one answer. The arguments of its call come in pieces. */
export type Answer = {
  readonly reasoning: string
  readonly texts: readonly string[]
  readonly call: { readonly id: string; readonly name: string; readonly pieces: readonly string[] } | null
  readonly finish: 'done' | 'length' | 'filtered'
}

/** What a frame of an answer tells of it. */
export type Frame = { readonly place: 'opening' | 'reasoning' | 'text' | 'call' | 'closing'; readonly text: string }

/** A streaming protocol of a provider: the path of its requests, and the frames of an answer. */
export type Protocol = {
  readonly path: string
  frames(answer: Answer): readonly Frame[]
  /** A frame that says that something went wrong in the middle of a stream. */
  readonly errorFrame: string
  errorBody(status: number): string
  /** Whether the request has the result of a tool. */
  hasResult(body: string): boolean
  /** How many frames come before the provider has told its usage. */
  readonly untilUsage: number
}

/** What no page and no page's log may show. */
export const providersWords = 'project-9f2c of the provider is unwell'

const of = (place: Frame['place'], ...texts: readonly string[]): Frame[] => texts.map((text) => ({ place, text }))

const frame = (data: object | string): string => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`

const chunk = (choice: object | null, more: object = {}): string =>
  frame({
    ...{ id: 'chat-1', object: 'chat.completion.chunk', created: 1, model: 'fake' },
    choices: choice ? [{ index: 0, ...choice }] : [],
    ...more,
  })

const openai: Protocol = {
  path: '/v1/chat/completions',
  untilUsage: Number.POSITIVE_INFINITY,
  errorFrame: frame({ error: { message: providersWords, type: 'server_error', code: null } }),
  errorBody: () => JSON.stringify({ error: { message: providersWords, type: 'server_error' } }),
  hasResult: (body) => body.includes('"role":"tool"'),
  frames({ reasoning, texts, call, finish }) {
    const input = (fields: object, name: object = {}) =>
      chunk({ delta: { tool_calls: [{ index: 0, ...name, function: fields }] } })
    const reasons = { done: call ? 'tool_calls' : 'stop', length: 'length', filtered: 'content_filter' }
    return [
      ...of('opening', chunk({ delta: { role: 'assistant', content: '' } })),
      ...of('reasoning', chunk({ delta: { reasoning_content: reasoning } })),
      ...of('text', ...texts.map((content) => chunk({ delta: { content } }))),
      ...of('call', ...(call ? [input({ name: call.name, arguments: '' }, { id: call.id, type: 'function' })] : [])),
      ...of('call', ...(call?.pieces ?? []).map((piece) => input({ arguments: piece }))),
      ...of('closing', chunk({ delta: {}, finish_reason: reasons[finish] })),
      ...of('closing', chunk(null, { usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } })),
      ...of('closing', frame('[DONE]')),
    ]
  },
}

const event = (type: string, data: object = {}): string => `event: ${type}\n${frame({ type, ...data })}`

const blocks = ['reasoning', 'text', 'call'] as const

function block(place: (typeof blocks)[number], content: object, deltas: readonly object[]): Frame[] {
  const index = blocks.indexOf(place)
  return of(
    place,
    event('content_block_start', { index, content_block: content }),
    ...deltas.map((delta) => event('content_block_delta', { index, delta })),
    event('content_block_stop', { index }),
  )
}

const anthropic: Protocol = {
  path: '/v1/messages',
  untilUsage: 1,
  errorFrame: event('error', { error: { type: 'api_error', message: providersWords } }),
  errorBody: (status) => {
    const type = { 429: 'rate_limit_error', 529: 'overloaded_error' }[status] ?? 'api_error'
    return JSON.stringify({ type: 'error', error: { type, message: providersWords } })
  },
  hasResult: (body) => body.includes('"tool_result"'),
  frames({ reasoning, texts, call, finish }) {
    const reasons = { done: call ? 'tool_use' : 'end_turn', length: 'max_tokens', filtered: 'refusal' }
    const message = {
      ...{ id: 'msg-1', type: 'message', role: 'assistant', model: 'fake', content: [] },
      ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens: 7, output_tokens: 1 } },
    }
    return [
      ...of('opening', event('message_start', { message })),
      ...block('reasoning', { type: 'thinking', thinking: '', signature: '' }, [
        { type: 'thinking_delta', thinking: reasoning },
        { type: 'signature_delta', signature: 'c2lnbmVk' },
      ]),
      ...of('reasoning', event('ping')),
      ...block(
        'text',
        { type: 'text', text: '' },
        texts.map((text) => ({ type: 'text_delta', text })),
      ),
      ...(call
        ? block(
            'call',
            { type: 'tool_use', id: call.id, name: call.name, input: {} },
            call.pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
          )
        : []),
      ...of(
        'closing',
        event('message_delta', {
          delta: { stop_reason: reasons[finish], stop_sequence: null },
          usage: { output_tokens: 3 },
        }),
        event('message_stop'),
      ),
    ]
  },
}

export const protocols = { openai, anthropic } as const

export type ProtocolName = keyof typeof protocols
