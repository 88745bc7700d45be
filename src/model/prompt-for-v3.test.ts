import { describe, expect, test } from 'vitest'
import type { ModelPrompt } from '../define/language-model.ts'
import { promptForV3 } from './call-model.ts'

const bytes = new Uint8Array([1, 2, 3])
const url = new URL('https://host/a.png')
const file = (data: unknown, mediaType = 'image/png') => ({ type: 'file', mediaType, data })
const user = (...content: unknown[]) => [{ role: 'user', content }] as ModelPrompt

describe('promptForV3', () => {
  test('leaves what both specifications say alike', () => {
    const prompt: ModelPrompt = [
      { role: 'system', content: 'Be brief.', providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } },
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 's' } } },
          { type: 'tool-call', toolCallId: '1', toolName: 'refund', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: '1', toolName: 'refund', output: { type: 'json', value: 1 } }],
      },
    ]
    expect(promptForV3(prompt)).toEqual(prompt)
  })

  test.each([
    ['bytes', file({ type: 'data', data: bytes }), [file(bytes)]],
    ['base64', file({ type: 'data', data: 'AQID' }), [file('AQID')]],
    ['an address', file({ type: 'url', url }), [file(url)]],
    ['inline text', file({ type: 'text', text: 'a' }, 'text/plain'), [file(new Uint8Array([97]), 'text/plain')]],
    ['a reference that v3 has no place for', file({ type: 'reference', reference: { openai: 'f1' } }), []],
    ['a media type without its second half', file({ type: 'data', data: bytes }, 'image'), [file(bytes, 'image/*')]],
    ['bare bytes already', file(bytes), [file(bytes)]],
    ['a bare address already', file(url), [file(url)]],
  ])('unwraps a file of %s', (_, part, expected) => {
    expect(promptForV3(user(part))).toEqual(user(...expected))
  })

  test('leaves out what only v4 has', () => {
    const prompt = [
      {
        role: 'assistant',
        content: [
          { type: 'custom', kind: 'openai.compaction' },
          { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: bytes } },
          { type: 'text', text: 'hi' },
          file({ type: 'data', data: bytes }),
        ],
      },
    ] as ModelPrompt
    expect(promptForV3(prompt)).toEqual([{ role: 'assistant', content: [{ type: 'text', text: 'hi' }, file(bytes)] }])
  })

  test.each([
    ['an image', file({ type: 'data', data: bytes }), { type: 'image-data', data: 'AQID', mediaType: 'image/png' }],
    ['an image elsewhere', file({ type: 'url', url }), { type: 'image-url', url: url.href }],
    [
      'an image at the provider',
      file({ type: 'reference', reference: { openai: 'f1' } }),
      { type: 'image-file-id', fileId: { openai: 'f1' } },
    ],
    [
      'a file',
      { ...file({ type: 'data', data: 'AQID' }, 'application/pdf'), filename: 'a.pdf' },
      { type: 'file-data', data: 'AQID', mediaType: 'application/pdf', filename: 'a.pdf' },
    ],
    ['a file elsewhere', file({ type: 'url', url }, 'application/pdf'), { type: 'file-url', url: url.href }],
    ['a text file', file({ type: 'text', text: 'a' }, 'text/plain'), { type: 'text', text: 'a' }],
    ['text', { type: 'text', text: 'a' }, { type: 'text', text: 'a' }],
  ])('a tool result with %s', (_, part, expected) => {
    const prompt = (content: unknown) =>
      [
        {
          role: 'tool',
          content: [
            { type: 'tool-result', toolCallId: '1', toolName: 't', output: { type: 'content', value: [content] } },
          ],
        },
      ] as ModelPrompt
    expect(promptForV3(prompt(part))).toEqual(prompt(expected))
  })
})
