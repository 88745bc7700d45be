import { describe, expect, test } from 'vitest'
import {
  called,
  cancelled,
  ended,
  failed,
  regenerated,
  replied,
  resolved,
  said,
  started,
  stateOf,
  succeeded,
  suspended,
} from '../../../test/log/story.ts'
import type { AssistantPart, NewEvent } from '../../log/events.ts'
import { noReduction } from '../budget/reduce.ts'
import { contextOfCall, type RenderOptions, renderContext } from './render-context.ts'

const own = { provider: 'test', modelId: 'one' }
const other = { provider: 'elsewhere', modelId: 'two' }

function render(events: readonly NewEvent[], options: Partial<RenderOptions> = {}) {
  return renderContext(stateOf(events), { system: '', model: own, ...options })
}

/** Each message as `role: text`, with calls as `name#id` and results as `id=value`. */
function shapeOf(events: readonly NewEvent[], options: Partial<RenderOptions> = {}): string[] {
  return render(events, options).map(({ role, content }) => {
    if (typeof content === 'string') return `${role}: ${content}`
    const parts = content.map((part) => {
      if (part.type === 'tool-call') return `${part.toolName}#${part.toolCallId}`
      if (part.type === 'tool-result')
        return `${part.toolCallId}=${JSON.stringify((part.output as { value: unknown }).value)}`
      if (part.type === 'reasoning') return `(${part.text})`
      return part.type === 'text' ? part.text : `[${part.type}]`
    })
    return `${role}: ${parts.join(' ')}`
  })
}

const says = (turnId: string, ...texts: string[]): NewEvent => ({
  type: 'user_msg',
  content: { turnId, message: { parts: texts.map((text) => ({ type: 'text', text })) }, options: {}, who: 'ann' },
})

describe('the order of a prompt', () => {
  test('is instructions, summary, turns, injections', () => {
    const events = [said('t1'), replied('t1', 'm1', 1), ended('t1'), said('t2')]
    const summary = { toSeq: 3, version: 1, text: 'they met' }
    const injections = [{ type: 'text' as const, text: 'it rains' }]
    expect(shapeOf(events, { system: 'Be brief.', reduction: { ...noReduction, summary }, injections })).toEqual([
      'system: Be brief.',
      'user: Summary of the conversation so far, in place of its earlier messages:\n\nthey met',
      'user: for t2',
      'user: it rains',
    ])
  })

  test('has a message before the user messages that its own prompt did not have', () => {
    const events = [said('t1'), says('t1', 'and this'), replied('t1', 'm1', 1)]
    expect(shapeOf(events)).toEqual(['user: for t1', 'assistant: this is m1', 'user: and this'])
  })

  test('has results right after their calls, also when a user spoke in between', () => {
    const events = [
      said('t1'),
      replied('t1', 'm1', 1, { calls: ['c1', 'c2'] }),
      called('c1'),
      called('c2'),
      says('t1', 'hurry'),
      succeeded('c2'),
      succeeded('c1'),
    ]
    expect(shapeOf(events)).toEqual([
      'user: for t1',
      'assistant: this is m1 refund#provider-c1 refund#provider-c2',
      'tool: provider-c1="done" provider-c2="done"',
      'user: hurry',
    ])
  })

  test('has no turn that is in the queue, and none that ended there', () => {
    const events = [said('t1'), said('t2'), cancelled('t2'), ended('t2', 'cancelled'), said('t3')]
    expect(shapeOf(events)).toEqual(['user: for t1'])
  })
})

describe('a message', () => {
  test.each(['cancelled', 'failed'] as const)('that was %s is marked for the model', (status) => {
    const events = [said('t1'), replied('t1', 'm1', 1, { status }), ended('t1', status), said('t2')]
    const mark = status === 'cancelled' ? 'cut off: the user cancelled it' : 'cut off by an error'
    expect(shapeOf(events)[1]).toBe(`assistant: this is m1 [This message was ${mark}.]`)
  })

  test('that was cut off before it said anything is still told of', () => {
    const parts: AssistantPart[] = [{ type: 'reasoning', text: 'hm' }]
    const events = [
      said('t1'),
      replied('t1', 'm1', 1, { status: 'cancelled', parts }),
      ended('t1', 'cancelled'),
      said('t2'),
    ]
    expect(shapeOf(events)[1]).toBe('assistant: [This message was cut off: the user cancelled it.]')
  })

  test('that was regenerated is not there; the feedback is', () => {
    const events = [said('t1'), replied('t1', 'm1', 1), regenerated('m1')]
    expect(shapeOf(events)).toEqual(['user: for t1', 'user: say it better'])
  })

  test('with nothing in it is skipped, but not where a user has to speak', () => {
    expect(shapeOf([says('t1', ' '), replied('t1', 'm1', 1), ended('t1'), said('t2'), says('t2', '')])).toEqual([
      'user: [an empty message]',
      'assistant: this is m1',
      'user: for t2',
    ])
    expect(shapeOf([])).toEqual(['user: [an empty message]'])
  })

  test('stays as it is when the log grows after a gap', () => {
    const before = shapeOf([said('t1'), replied('t1', 'm1', 1), says('t1', '')])
    const after = shapeOf([said('t1'), replied('t1', 'm1', 1), says('t1', ''), says('t1', 'go on')])
    expect(before).toEqual(['user: for t1', 'assistant: this is m1', 'user: [an empty message]'])
    expect(after).toEqual([...before, 'user: go on'])
  })

  test('has no half of a surrogate pair, whatever was said', () => {
    const events = [
      says('t1', 'a\ud83d'),
      replied('t1', 'm1', 1, { calls: ['c1'] }),
      called('c1', { args: { '\udc00': ['\ud83d'] } }),
      failed('c1', '\ud83d'),
    ]
    expect(JSON.stringify(render(events, { system: '\ud83d' }))).not.toMatch(/\\ud83d|\\udc00/)
  })
})

describe('reasoning', () => {
  const parts: AssistantPart[] = [
    { type: 'reasoning', text: 'hm', providerMetadata: { test: { signature: 's' } } },
    { type: 'text', text: 'fine', providerMetadata: { test: { itemId: 'i' } } },
  ]
  const events = [said('t1'), replied('t1', 'm1', 1, { parts }), ended('t1'), said('t2')]

  test('goes back to the provider that made it, with its signature', () => {
    expect(render(events)[1]?.content).toEqual([
      { type: 'reasoning', text: 'hm', providerOptions: { test: { signature: 's' } } },
      { type: 'text', text: 'fine', providerOptions: { test: { itemId: 'i' } } },
    ])
  })

  test('goes to no other provider, and neither does other provider-specific content', () => {
    expect(render(events, { model: other })[1]?.content).toEqual([{ type: 'text', text: 'fine' }])
  })

  test('of a message that is not whole goes to no provider', () => {
    const cut = [said('t1'), replied('t1', 'm1', 1, { parts, status: 'failed' }), ended('t1', 'failed'), said('t2')]
    expect(shapeOf(cut)[1]).toBe('assistant: fine [This message was cut off by an error.]')
    const halted: AssistantPart[] = [...parts, { type: 'plain_call', providerCallId: 'p', name: 'refund', args: {} }]
    expect(shapeOf([said('t1'), replied('t1', 'm1', 1, { parts: halted }), ended('t1', 'halted'), said('t2')])[1]).toBe(
      'assistant: fine',
    )
  })

  test('that nothing came of is left out', () => {
    const dangling = [said('t1'), replied('t1', 'm1', 1, { parts: parts.toReversed() }), ended('t1'), said('t2')]
    expect(shapeOf(dangling)[1]).toBe('assistant: fine')
    const alone = [said('t1'), replied('t1', 'm1', 1, { parts: parts.slice(0, 1) }), ended('t1'), said('t2')]
    expect(shapeOf(alone)).toEqual(['user: for t1', 'user: for t2'])
  })
})

describe('a call', () => {
  const withCall = (...end: NewEvent[]) => [said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1'), ...end]

  test.each<[string, NewEvent[], unknown]>([
    ['open', [], { type: 'text', value: '[no result yet: the call is still open]' }],
    ['running', [started('c1')], { type: 'text', value: '[no result yet: the call is still open]' }],
    ['done', [succeeded('c1')], { type: 'text', value: 'done' }],
    ['failed', [failed('c1', 'broke')], { type: 'error-text', value: 'broke' }],
    ['failed without a word', [failed('c1', '')], { type: 'error-text', value: 'it failed and did not say why' }],
    ['interrupted', [failed('c1', 'gone', 'unknown')], { type: 'error-text', value: 'gone (outcome: unknown)' }],
    [
      'denied',
      [suspended('c1', 'approval'), resolved('c1', 'approval', 'denied', { value: { reason: 'too much' } })],
      { type: 'error-text', value: 'tool call denied: too much' },
    ],
    [
      'expired',
      [suspended('c1', 'approval'), resolved('c1', 'approval', 'expired')],
      { type: 'error-text', value: 'tool call expired: no response' },
    ],
  ])('that is %s has a result', (_, events, output) => {
    const result = render(withCall(...events)).at(-1)
    expect(result).toMatchObject({ role: 'tool', content: [{ toolCallId: 'provider-c1', output }] })
  })

  test.each([
    ['an empty text', '', { type: 'json', value: '' }],
    ['null', null, { type: 'json', value: null }],
    ['a list', [1], { type: 'json', value: [1] }],
  ])('that gave %s says so', (_, result, output) => {
    const events = withCall({ type: 'tool_result', content: { callId: 'c1', ok: true, result } })
    expect(render(events).at(-1)?.content).toMatchObject([{ output }])
  })

  test('whose arguments a person changed shows the model’s own, and tells of the change in the result', () => {
    const edited = { before: { cents: 5 }, after: { cents: 1 } }
    const events = withCall(
      suspended('c1', 'approval'),
      resolved('c1', 'approval', 'resolved', { value: true, edited }),
      succeeded('c1'),
    )
    const [, message, results] = render(events)
    expect(message?.content).toMatchObject([{ type: 'text' }, { type: 'tool-call', input: { cents: 5 } }])
    expect(results?.content).toMatchObject([
      { output: { value: { note: 'A person changed the arguments to {"cents":1} before it ran.', result: 'done' } } },
    ])
  })

  test('whose state was refused tells why, next to the result', () => {
    const refused: NewEvent = { type: 'state_refused', content: { callId: 'c1', reason: 'todos must be a list' } }
    const [, , results] = render(withCall(refused, succeeded('c1')))
    const value = { note: 'The state was not changed: todos must be a list', result: 'done' }
    expect(results?.content).toMatchObject([{ output: { type: 'json', value } }])
  })

  test('has the provider’s id, unless that was used before or not all take it', () => {
    const events = [
      said('t1'),
      replied('t1', 'm1', 1, { calls: ['c1', 'c2', 'c3'] }),
      called('c1', { providerCallId: 'a' }),
      called('c2', { providerCallId: 'a' }),
      called('c3', { providerCallId: 'with space' }),
      ...['c1', 'c2', 'c3'].map(succeeded),
    ]
    expect(shapeOf(events).slice(1)).toEqual([
      'assistant: this is m1 refund#a refund#c2 refund#c3',
      'tool: a="done" c2="done" c3="done"',
    ])
  })

  test('by a name or with arguments that no provider takes back is told so that it does', () => {
    const events = [
      said('t1'),
      replied('t1', 'm1', 1, { calls: ['c1'] }),
      called('c1', { name: '3 d!', args: 'not JSON' }),
      succeeded('c1'),
    ]
    const nameFor = (provider: string) => render(events, { model: { provider, modelId: 'x' } })[1]?.content.at(-1)
    expect(nameFor('openai')).toMatchObject({ toolName: '3_d_', input: { input: 'not JSON' } })
    expect(nameFor('google.generative-ai')).toMatchObject({ toolName: '_3_d_' })
    const usual = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1'), succeeded('c1')]
    const model = { provider: 'google.generative-ai', modelId: 'x' }
    expect(render(usual, { model })[1]?.content.at(-1)).toMatchObject({ toolName: 'refund' })
  })

  test('that is stubbed keeps its pair', () => {
    const reduction = { ...noReduction, stubbed: new Map([['c1', 'old']]) }
    expect(shapeOf(withCall(succeeded('c1')), { reduction }).slice(1)).toEqual([
      'assistant: this is m1 refund#provider-c1',
      'tool: provider-c1="[an old result, left out to save room; call the tool again if you need it]"',
    ])
  })
})

describe('a call that its host ran', () => {
  const call: AssistantPart = { type: 'provider_call', providerCallId: 'h1', name: 'web_search', args: { q: 'x' } }
  const result: AssistantPart = { type: 'provider_result', providerCallId: 'h1', name: 'web_search', result: [1] }
  const text: AssistantPart = { type: 'text', text: 'found' }
  const rendered = (parts: AssistantPart[], options: Partial<RenderOptions> = {}) =>
    shapeOf([said('t1'), replied('t1', 'm1', 1, { parts }), ended('t1'), said('t2')], options)[1]

  test('goes back to it with its result', () => {
    expect(rendered([call, result, text])).toBe('assistant: web_search#h1 h1=[1] found')
  })

  test.each<[string, AssistantPart[], Partial<RenderOptions>]>([
    ['another provider', [call, result, text], { model: other }],
    ['anybody without its result', [call, text], {}],
    ['anybody as a result alone', [result, text], {}],
    ['anybody when its result could not be kept', [call, { ...result, result: null }, text], {}],
    ['anybody in the wrong order', [result, call, text], {}],
  ])('does not go to %s', (_, parts, options) => {
    expect(rendered(parts, options)).toBe('assistant: found')
  })

  test('does not leave a message that some encoders would empty', () => {
    expect(rendered([call, result])).toBe('assistant: web_search#h1 h1=[1] [no text]')
  })

  test('does not go to an API that has no place for it', () => {
    const parts = [call, result, text]
    const model = { provider: 'openai.chat', modelId: 'x' }
    const events = [said('t1'), replied('t1', 'm1', 1, { parts, model }), ended('t1'), said('t2')]
    expect(shapeOf(events, { model })[1]).toBe('assistant: found')
  })
})

test('rendering is pure: the same state gives the same prompt, and is not touched', () => {
  const state = stateOf([said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1'), succeeded('c1')])
  const copy = structuredClone(state)
  const [first, second] = [1, 2].map(() => renderContext(state, { system: 'x', model: own }))
  expect(first).toEqual(second)
  expect(state).toEqual(copy)
})

test('a tool that asks what its model saw is told of files by their names, or else by their types', () => {
  const data = { blob: 'b'.repeat(64), mediaType: 'image/png', size: 3 }
  const file = { type: 'file' as const, mediaType: 'image/png', data }
  const parts = [file, { ...file, filename: 'cat.png' }]
  const asked: NewEvent = { type: 'user_msg', content: { turnId: 't1', message: { parts }, options: {}, who: 'ann' } }
  const state = stateOf([asked, replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1')])
  const told = contextOfCall(state, 'c1', noReduction)[0]?.content
  expect(told).toMatchObject([{ text: '[file image/png]' }, { text: '[file cat.png]' }])
})
