import { expect, test } from 'vitest'
import { generatedFile } from './message-draft.ts'

const file = (data: unknown) => generatedFile({ type: 'file', mediaType: 'image/png', data })

test.each([
  ['bytes', new Uint8Array([104, 105])],
  ['base64', 'aGk='],
  ['a data: URL', 'data:image/png;base64,aGk='],
  ['a data: URL in a tagged object', { type: 'url', url: new URL('data:image/png;base64,aGk=') }],
  ['tagged bytes', { type: 'data', data: 'aGk=' }],
])('%s are the bytes of a file', (_, data) => {
  expect(file(data)?.data).toEqual(new Uint8Array([104, 105]))
})

test.each(['https://example.com/a.png', { type: 'url', url: new URL('https://example.com/a.png') }])(
  'an address on the web stays an address',
  (data) => {
    expect(file(data)).toMatchObject({ mediaType: 'image/png', data: 'https://example.com/a.png' })
  },
)

test('an address that is not on the web is no file', () => {
  for (const data of ['javascript:alert(1)', 'file:///etc/passwd', new URL('file:///etc/passwd'), 'x://y', 'https:']) {
    expect(file(data)).toBe(null)
    expect(file({ type: 'url', url: data })).toBe(null)
  }
})

test('nothing is no file', () => {
  for (const data of [undefined, null, 5, '', {}, new Uint8Array()]) expect(file(data)).toBe(null)
})
