import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { createSigner, secretProblems } from './signer.ts'

const first = 'a-secret-of-more-than-thirty-two-bytes'
const second = 'another-secret-of-more-than-32-bytes-x'

test('a signature is accepted by every process that has the secret', () => {
  const signature = createSigner(first).sign('file', 'text')
  expect(createSigner(first).isSigned('file', 'text', signature)).toBe(true)
  expect(createSigner(first).isSigned('file', new TextEncoder().encode('text'), signature)).toBe(true)
})

test('a signature is not valid for another text, purpose or secret', () => {
  const signer = createSigner(first)
  const signature = signer.sign('file', 'text')
  expect(signer.isSigned('file', 'other', signature)).toBe(false)
  expect(signer.isSigned('cursor', 'text', signature)).toBe(false)
  expect(createSigner(second).isSigned('file', 'text', signature)).toBe(false)
})

test('of several secrets the first signs and all are accepted, so a secret can be replaced', () => {
  const old = createSigner(first)
  const both = createSigner([second, first])
  const now = createSigner([second])
  expect(both.isSigned('file', 'text', old.sign('file', 'text'))).toBe(true)
  expect(both.sign('file', 'text')).toBe(now.sign('file', 'text'))
  expect(now.isSigned('file', 'text', old.sign('file', 'text'))).toBe(false)
})

test('without a secret each process makes its own, and says that it did', () => {
  const [one, other] = [createSigner(), createSigner()]
  expect(one.isTemporary).toBe(true)
  expect(createSigner(first).isTemporary).toBe(false)
  expect(one.isSigned('file', 'text', one.sign('file', 'text'))).toBe(true)
  expect(other.isSigned('file', 'text', one.sign('file', 'text'))).toBe(false)
})

test.each([undefined, null, '', 7, {}, [], 'short', 'x'.repeat(43), 'ä'.repeat(43), 'x'.repeat(1_000_000)])(
  'anything else is not a signature: %#',
  (value) => {
    expect(createSigner(first).isSigned('file', 'text', value)).toBe(false)
  },
)

test('a signature with other padding bits is refused', () => {
  const signer = createSigner(first)
  const signature = signer.sign('file', 'text')
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const sibling = signature.slice(0, -1) + letters[letters.indexOf(signature.at(-1)!) ^ 1]
  expect(Buffer.from(sibling, 'base64url')).toEqual(Buffer.from(signature, 'base64url'))
  expect(signer.isSigned('file', 'text', sibling)).toBe(false)
})

test('a signature can be computed with any HMAC library', () => {
  const key = createHmac('sha256', first).update('perdure/file/v1').digest()
  const signature = createHmac('sha256', key).update('1700000000.{}').digest('base64url')
  expect(createSigner(first).sign('file', '1700000000.{}')).toBe(signature)
})

test.each([
  '',
  '   ',
  'short',
  `  ${'x'.repeat(31)}  `,
  7,
  null,
  {},
  [],
  [first, ''],
  [first, 7],
  Array(11).fill(first),
])('the secret %j is refused, with what to do', (secret) => {
  expect(secretProblems('secret', secret)).toEqual([expect.stringMatching(/^'secret' must be /)])
})

test('a long secret, several, and none are taken', () => {
  for (const secret of [first, [first], [second, first], undefined])
    expect(secretProblems('secret', secret)).toEqual([])
})
