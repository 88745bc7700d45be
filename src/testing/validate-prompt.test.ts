import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { type PromptProvider, validatePrompt } from './validate-prompt.ts'

const system: LanguageModelV4Message = { role: 'system', content: 'Be brief.' }
const asks = (text = 'hello'): LanguageModelV4Message => ({ role: 'user', content: [{ type: 'text', text }] })
const says = (...content: unknown[]) => ({ role: 'assistant', content }) as LanguageModelV4Message
const tool = (...content: unknown[]) => ({ role: 'tool', content }) as LanguageModelV4Message
const text = (value = 'fine') => ({ type: 'text', text: value })
const call = (toolCallId = 'c1', toolName = 'look', input: unknown = {}) => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input,
})
const result = (toolCallId = 'c1', toolName = 'look', output: unknown = { type: 'text', value: 'done' }) => ({
  type: 'tool-result',
  toolCallId,
  toolName,
  output,
})
const hosted = (toolCallId = 'h1') => ({ ...call(toolCallId, 'web_search'), providerExecuted: true })
const hostedResult = (toolCallId = 'h1') => result(toolCallId, 'web_search', { type: 'json', value: [] })
const reasoning = (provider: string) => ({
  type: 'reasoning',
  text: 'hm',
  providerOptions: { [provider]: { signature: 's' } },
})
const marked = <T extends object>(value: T): T => ({
  ...value,
  providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
})

const all: readonly PromptProvider[] = ['openai', 'anthropic', 'google']

const good: [name: string, prompt: LanguageModelV4Prompt, providers?: readonly PromptProvider[]][] = [
  ['a question', [system, asks()]],
  ['a question without instructions', [asks()]],
  ['a call and its result', [asks(), says(text(), call()), tool(result())]],
  [
    'parallel calls with results in another order',
    [asks(), says(call('a'), call('b')), tool(result('b'), result('a'))],
  ],
  ['two user messages in a row', [asks(), asks('and this'), says(text()), asks()]],
  ['a call that the host ran', [asks(), says(hosted(), hostedResult(), text()), asks()]],
  ['reasoning of its own', [asks(), says(reasoning('anthropic'), text()), asks()], ['anthropic']],
  ['reasoning without a signature', [asks(), says({ type: 'reasoning', text: 'hm' }, text()), asks()]],
  ['an answer at the end', [asks(), says(text())], ['openai']],
  ['four marks', [system, asks(), says(text()), asks()].map(marked), ['anthropic']],
]

describe('a legal prompt', () => {
  test.each(good)('%s', (_, prompt, providers = all) => {
    for (const provider of providers) expect(validatePrompt(prompt, provider)).toEqual([])
  })
})

const bad: [name: string, prompt: LanguageModelV4Prompt, problem: string, providers?: readonly PromptProvider[]][] = [
  ['nothing at all', [], 'no message'],
  ['instructions alone', [system], 'no message'],
  ['instructions in the middle', [asks(), system, asks()], 'instructions must come before'],
  ['empty instructions', [{ role: 'system', content: ' \n' }, asks()], 'the instructions are empty'],
  [
    'an answer at the beginning',
    [says(text()), asks()],
    'the first message has the role assistant',
    ['anthropic', 'google'],
  ],
  ['a result at the beginning', [tool(result()), asks()], 'results follow no call'],
  ['an answer at the end', [asks(), says(text())], 'the last message has the role assistant', ['anthropic', 'google']],
  [
    'two answers in a row',
    [asks(), says(text()), says(call()), tool(result())],
    'an assistant message follows',
    ['google'],
  ],
  ['a message without content', [asks(), says(), asks()], 'it has no content'],
  ['a user message without content', [{ role: 'user', content: [] }], 'it has no content'],
  ['an empty text', [asks('')], 'a text is empty'],
  ['a text of white space', [asks(), says(text(' \n\t')), asks()], 'a text is empty'],
  ['a call without a result', [asks(), says(call()), asks()], "the call 'c1' has no result right after it"],
  ['a call at the end', [asks(), says(call())], "the call 'c1' has no result right after it"],
  ['one of two calls without a result', [asks(), says(call('a'), call('b')), tool(result('a'))], "the call 'b' has no"],
  [
    'a result after something else',
    [asks(), says(call()), asks(), tool(result())],
    "the call 'c1' has no result right",
  ],
  ['two results for a call', [asks(), says(call()), tool(result(), result())], "'c1' has 2 results"],
  ['a result without a call', [asks(), says(call()), tool(result(), result('c9'))], "'c9', which was not called"],
  ['a result of a call outside the window', [asks(), tool(result()), says(text()), asks()], 'results follow no call'],
  ['a result under another name', [asks(), says(call()), tool(result('c1', 'other'))], 'is of another tool'],
  [
    'an id used in two messages',
    [asks(), says(call()), tool(result()), says(call()), tool(result())],
    "the id 'c1' is used twice",
  ],
  ['an id used twice in a message', [asks(), says(call(), call()), tool(result())], "the id 'c1' is used twice"],
  ['an empty id', [asks(), says(call('')), tool(result(''))], "the id '' is not one it takes"],
  ['an id that is too long', [asks(), says(call('x'.repeat(41))), tool(result('x'.repeat(41)))], 'takes', ['openai']],
  ['an id with a colon', [asks(), says(call('a:1')), tool(result('a:1'))], "the id 'a:1' is not", ['anthropic']],
  ['a tool name with a space', [asks(), says(call('c1', 'a b')), tool(result('c1', 'a b'))], "the tool name 'a b'"],
  ['a tool name with a digit first', [asks(), says(call('c1', '3d')), tool(result('c1', '3d'))], "'3d'", ['google']],
  ['an empty tool name', [asks(), says(call('c1', '')), tool(result('c1', ''))], "the tool name ''"],
  ['arguments that are a list', [asks(), says(call('c1', 'look', [1])), tool(result())], 'is not an object'],
  ['arguments that are text', [asks(), says(call('c1', 'look', '{"a":1}')), tool(result())], 'is not an object'],
  ['an empty result', [asks(), says(call()), tool(result('c1', 'look', { type: 'text', value: '' }))], "'c1' is empty"],
  [
    'a result without a value',
    [asks(), says(call()), tool(result('c1', 'look', { type: 'json', value: undefined }))],
    'missing',
  ],
  ['a hosted call without its result', [asks(), says(hosted(), text()), asks()], 'of its host has no result'],
  ['a hosted result before its call', [asks(), says(hostedResult(), hosted(), text()), asks()], 'was not asked for'],
  [
    'a hosted result in a tool message',
    [asks(), says(hosted(), text()), tool(hostedResult())],
    'results follow no call',
  ],
  ['reasoning at the end', [asks(), says(text(), { type: 'reasoning', text: 'hm' }), asks()], 'it ends with reasoning'],
  ['reasoning alone', [asks(), says({ type: 'reasoning', text: 'hm' }), asks()], 'it ends with reasoning'],
  ['reasoning of Anthropic', [asks(), says(reasoning('anthropic'), text()), asks()], 'another', ['openai', 'google']],
  ['reasoning of OpenAI', [asks(), says(reasoning('openai'), text()), asks()], 'another', ['anthropic', 'google']],
  ['reasoning of Azure', [asks(), says(reasoning('azure'), text()), asks()], 'another', ['anthropic', 'google']],
  ['reasoning of Google', [asks(), says(reasoning('google'), text()), asks()], 'another', ['anthropic', 'openai']],
  ['reasoning of Vertex', [asks(), says(reasoning('vertex'), text()), asks()], 'another', ['anthropic', 'openai']],
  ['half of a surrogate pair', [asks('\ud83d')], 'which is not Unicode'],
  ['half of a pair in arguments', [asks(), says(call('c1', 'look', { q: '\udc00' })), tool(result())], 'not Unicode'],
  ['half of a pair in a key', [asks(), says(call('c1', 'look', { '\ud800': 1 })), tool(result())], 'not Unicode'],
  ['five marks', [system, asks(), says(text()), asks(), asks()].map(marked), '5 cache marks', ['anthropic']],
  ['a mark for another provider', [marked(asks())], '1 cache marks', ['openai', 'google']],
]

describe('an illegal prompt', () => {
  test.each(bad)('%s', (_, prompt, problem, providers = all) => {
    for (const provider of providers) {
      expect(validatePrompt(prompt, provider)).toContainEqual(expect.stringContaining(problem))
    }
  })

  test('is reported with all its problems, and where they are', () => {
    const prompt = [system, says(call('c1', 'a b')), asks('')]
    expect(validatePrompt(prompt, 'anthropic')).toEqual([
      'the first message has the role assistant, not user',
      'message 2: a text is empty',
      "message 1: the tool name 'a b' is not one it takes",
      "message 1: the call 'c1' has no result right after it",
    ])
  })
})
