import { expect, test } from 'vitest'
import { secretValues } from './redactor.ts'

const isSecret = (name: string) => secretValues({ [name]: 'hunter2hunter2' }).length > 0

test('names look secret by whole words', () => {
  const secret = [
    ...['API_KEY', 'APIKEY', 'KEYS', 'GITHUB_TOKEN', 'tokens', 'CLIENT_SECRET', 'SECRETS', 'DB_PASSWORD', 'PASSWD'],
    ...['PASSPHRASE', 'PASS', 'DB.PASS', 'AWS_CREDENTIALS', 'CREDENTIAL', 'SENTRY_DSN', 'BASIC_AUTH', 'DB_PWD'],
    ...['SESSION_COOKIE', 'HASH_SALT', 'MY_CONNECTIONSTRING', 'KEY_OF_APP'],
  ]
  const plain = ['KEYBOARD', 'PWD', 'AUTH', 'COOKIE', 'SALT', 'PATH', 'TOKENIZER', 'AUTH_URL', 'PASSENGER', '', '_']
  expect(secret.filter((name) => !isSecret(name))).toEqual([])
  expect(plain.filter(isSecret)).toEqual([])
})

test('values of eight characters on are secret, without blanks around them; shorter ones are settings', () => {
  expect(secretValues({ API_KEY: '1234567' })).toEqual([])
  expect(secretValues({ API_KEY: ' 12345678\n' })).toEqual(['12345678'])
  expect(secretValues({ API_KEY: undefined })).toEqual([])
})

test('a secret is looked for as it is, in a URL and in JSON, the longest first', () => {
  expect(secretValues({ API_KEY: 'a b"c/d%41' })).toEqual([
    'a%20b%22c%2Fd%2541',
    'a b\\"c/d%41',
    'a b"c/d%41',
    'a b"c/dA',
  ])
  expect(secretValues({ API_KEY: 'a%20bcdefgh' })).toEqual(['a%2520bcdefgh', 'a%20bcdefgh', 'a bcdefgh'])
  expect(secretValues({ API_KEY: '100%safe' })).toEqual(['100%25safe', '100%safe'])
})

test('passwords of addresses are secret under any name', () => {
  const values = secretValues({ DATABASE_URL: 'postgres://app:hunter2hunter2@db/x redis://:otherpassword@r' })
  expect(values).toEqual(['hunter2hunter2', 'otherpassword'])
  expect(secretValues({ HOME_PAGE: 'https://example.com:8080/a@b' })).toEqual([])
})

test('of values that are as long, the order is that of their characters', () => {
  expect(secretValues({ B_KEY: 'bbbbbbbb', A_KEY: 'aaaaaaaa', C_KEY: 'cccccccccc' })).toEqual([
    ...['cccccccccc', 'aaaaaaaa', 'bbbbbbbb'],
  ])
})

test('a long value is looked for in pieces of 1,024, the last of which takes the rest', () => {
  const lengths = (length: number) => secretValues({ API_KEY: 'x'.repeat(length) }).map((piece) => piece.length)
  expect([lengths(1_023), lengths(2_047)]).toEqual([[1_023], [2_047]])
  expect(lengths(2_048)).toEqual([1_024, 1_024])
  const long = Array.from({ length: 2_500 }, (_, n) => String.fromCharCode(97 + (n % 26))).join('')
  const pieces = secretValues({ API_KEY: long })
  expect(pieces.map((piece) => piece.length)).toEqual([1_476, 1_024])
  expect(pieces.every((piece) => long.includes(piece))).toBe(true)
  expect(long.startsWith(pieces[1]!) && long.endsWith(pieces[0]!)).toBe(true)
})
