import { describe, expect, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { silentLogger } from '../logger.ts'
import { createRedactor } from './redactor.ts'

const secret = 's3cr3tS3cr3tS3cr3t'
const redact = createRedactor({ env: {} })

describe('redacting takes out', () => {
  test.each([
    ['an OpenAI key', 'Incorrect API key provided: sk-proj-abc123DEF456.'],
    ['a key the provider has masked in part', 'Incorrect API key provided: sk-pr****6789. Find yours at https://x.y'],
    ['an Anthropic key', 'bad key sk-ant-api03-AbC_dEf-123456'],
    ['a Google key', 'key AIzaSyA1234567890abcdefghijklm is invalid'],
    ['a Groq key', 'gsk_abcDEF123456 was refused'],
    ['an AWS key id', 'AKIAIOSFODNN7EXAMPLE is unknown'],
    ['a JSON web token', 'token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def expired'],
    ['a bearer token', `sent Bearer ${secret}`],
    ['an authorization header', `authorization: Bearer ${secret}`],
    ['an authorization header without a scheme', `Authorization: ${secret}`],
    ['an authorization header of several values', `Authorization: AWS4-HMAC-SHA256 Credential=x, Signature=${secret}`],
    ['headers as JSON', `{"x-api-key":"${secret}","content-type":"application/json"}`],
    ['headers as JSON in JSON', `{\\"x-api-key\\":\\"${secret}\\"}`],
    ['basic credentials', 'Basic dXNlcjpwYXNzd29yZA== refused'],
    ['a cookie', `cookie: session=${secret}; theme=dark`],
    ['a second cookie', `set-cookie: theme=dark; session=${secret}`],
    ['a key in the query', `GET https://host/v1?alt=sse&key=${secret}#x failed`],
    ['a token in the query', `https://host/v1?access_token=${secret}&x=1`],
    ['a signature in the query', `https://host/v1?X-Amz-Signature=${secret}`],
    ['a password in an address', `connect https://user:${secret}@host/v1`],
    ['a connection string', `cannot reach postgres://app:${secret}@db.internal:5432/app`],
    ['a connection string with a password as it is', `cannot reach postgres://app:p@ss/${secret}@db:5432/app`],
    ['a connection string without a user', `redis://:${secret}@cache:6379/0 closed`],
    ['a connection string of several words', `host=db user=app password=${secret} sslmode=require`],
    ['a connection string of several parts', `Server=db;User=app;Password=${secret};`],
    ['a named key', `apiKey=${secret}`],
    ['a password', `password is ${secret}`],
    ['a password of several words', `{"password":"correct horse ${secret}"}`],
    ['a private key', `-----BEGIN RSA PRIVATE KEY-----\n${secret}\nabc`],
    ['a secret after a line break', `x-goog-api-key:\n ${secret}`],
  ])('%s', (_, text) => {
    const clean = redact(text)
    expect(clean).toContain('[redacted]')
    for (const word of [secret, 'abc123', '6789', 'AbC_dEf', 'AIza', 'gsk_', 'AKIA', 'eyJ', 'dXNlc', 'horse']) {
      expect(clean).not.toContain(word)
    }
    expect(redact(clean)).toBe(clean)
  })

  test('a long random word where a provider speaks, and leaves it where a tool names an order', () => {
    const text = 'used 0123456789abcdef0123456789abcdef to sign'
    expect(redact(text, { opaqueWords: true })).toBe('used [redacted] to sign')
    expect(redact(text)).toBe(text)
  })

  test.each([
    'Rate limit reached for gpt-5-mini in organization org-abc on tokens per min (TPM): Limit 30000, Used 29000',
    'prompt is too long: 210000 tokens > 200000 maximum',
    'The model `claude-sonnet-4-5-20250929` does not exist (request req_011CSHoEeqs5C35K2UUqR7Fy)',
    "Invalid schema for function 'refund': 'cents' is required",
    'request id 0b7b1a52-9f2e-4c55-8a53-3f1f0c0a8f10',
    'Cannot connect to API: connect ECONNREFUSED 127.0.0.1:11434',
    'Overloaded',
    "invalid arguments for 'login': password: must be at least 12 characters",
    'the token expired; the password is required.',
    'duplicate key value violates unique constraint "users_email_key" of pk_orders',
    'see https://example.com/users/ann@example.com',
  ])('nothing of: %s', (text) => {
    expect(redact(text, { opaqueWords: true })).toBe(text)
  })
})

describe('values of the environment', () => {
  const env = {
    API_KEY: 'a-plain-looking-value',
    STRIPE_WEBHOOK_SECRET: '  with spaces around  ',
    PGPASSWORD: 'correct horse',
    NPM_TOKEN: 'per/cent&more',
    PEM_KEY: 'line one\nline two',
    DATABASE_URL: 'postgres://app:open%20sesame@db/app',
    DEBUG_TOKEN: '1',
    USE_SECRETS: 'true',
    HOME: '/home/perdure',
    PWD: '/home/perdure/work',
    KEYBOARD_LAYOUT: 'german-dvorak',
  }
  const knowing = createRedactor({ env })

  test.each([
    ['as they are', 'used a-plain-looking-value', 'used [redacted]'],
    ['without the space around them', 'got with spaces around.', 'got [redacted].'],
    ['of several words', 'user app, correct horse, refused', 'user app, [redacted], refused'],
    ['in a URL', '/q=per%2Fcent%26more', '/q=[redacted]'],
    ['in JSON', '{"k":"line one\\nline two"}', '{"k":"[redacted]"}'],
    ['that are passwords of addresses', 'auth failed for open sesame', 'auth failed for [redacted]'],
    ['twice, side by side', 'a-plain-looking-valuea-plain-looking-value', '[redacted]'],
  ])('are taken out: %s', (_, text, clean) => {
    expect(knowing(text)).toBe(clean)
  })

  test('stay where they are short, or their names do not look secret', () => {
    const text = 'true 1 in /home/perdure/work, german-dvorak'
    expect(knowing(text)).toBe(text)
  })

  test('are those of the moment it was made', () => {
    const changing: Record<string, string> = { A_KEY: 'the-first-value' }
    const made = createRedactor({ env: changing })
    changing['A_KEY'] = 'the-other-value'
    expect(made('the-first-value, the-other-value')).toBe('[redacted], the-other-value')
  })

  test('are taken out whole, however long they are', () => {
    const long = Array.from({ length: 500 }, (_, index) => `piece-${index}`).join(' ')
    expect(createRedactor({ env: { A_KEY: long } })(`got ${long}!`)).toBe('got [redacted]!')
  })
})

describe('a long text', () => {
  test('is cut, well-formed, and says how long it was', () => {
    const text = redact('😀'.repeat(10_000))
    expect(text.length).toBeLessThanOrEqual(8_192)
    expect(text).toMatch(/ \.\.\. \(20000 characters in all\)$/)
    expect(text.isWellFormed()).toBe(true)
  })

  test('leaves no half of a secret, wherever it is cut', () => {
    const knowing = createRedactor({ env: { A_KEY: 'correct horse battery staple' } })
    // Secrets that are taken out make room for what follows them.
    const secrets = 'correct horse battery staple '.repeat(700)
    for (let shift = 0; shift < 40; shift++) {
      const clean = knowing(`${'x'.repeat(shift)}${secrets}${'y '.repeat(3_000)}`, { maxLength: 16_000 })
      expect(clean).not.toMatch(/corr|hors|batt|stap/)
    }
    const filler = 'word '.repeat(1_636)
    for (let shift = 0; shift < 40; shift++)
      expect(knowing(`${filler}${'x'.repeat(shift)} correct horse battery staple`)).not.toMatch(/corr|hors/)
  })

  test.each([
    ['addresses', 'a://'],
    ['at signs', '://@'],
    ['names of keys', 'x-api-key '],
    ['names of headers', 'authorization:'],
    ['words with hyphens', 'a-a-a-a-'],
    ['quotes', `"password"`],
    ['spaces', 'password   '],
    ['schemes', 'bearer  '],
    ['queries', '?&x'],
    ['prefixes', 'sk-'],
    ['dots', 'eyJaaaaaa.'],
    ['dashes', '-----BEGIN PRIVATE KEY-----'],
    ['backslashes', 'pwd\\"'],
  ])('takes no more time than its bound, full of %s', (_, piece) => {
    const text = piece.repeat(Math.ceil(1_000_000 / piece.length))
    const startedAt = performance.now()
    for (let round = 0; round < 5; round++) redact(text, { opaqueWords: true })
    expect((performance.now() - startedAt) / 5).toBeLessThan(1_000)
  })
})

describe("the application's own", () => {
  test('is given what the rules left, and has the last word', () => {
    const seen: string[] = []
    const own = createRedactor({
      env: {},
      redact: (text) => {
        seen.push(text)
        return text.replaceAll('IBAN DE02', 'IBAN ...')
      },
    })
    expect(own(`IBAN DE02 at https://u:${secret}@bank`)).toBe('IBAN ... at https://[redacted]@bank')
    expect(seen).toEqual(['IBAN DE02 at https://[redacted]@bank'])
  })

  test.each<[string, (text: string) => unknown]>([
    [
      'throws',
      () => {
        throw new Error(secret)
      },
    ],
    ['gives nothing', () => undefined],
    ['gives a promise', async (text) => text],
    [
      'gives a promise that rejects',
      async () => {
        throw new Error(secret)
      },
    ],
    ['gives an object', (text) => ({ text })],
  ])('lets nothing pass where it %s', (_, given) => {
    const told: unknown[] = []
    const logger = { ...silentLogger, error: (...line: unknown[]) => told.push(line) }
    const own = createRedactor({ env: {}, redact: given as (text: string) => string, logger })
    expect(own('account 4711')).toBe("[redacted: the application's redact failed]")
    expect(told).toHaveLength(1)
    expect(JSON.stringify(told)).not.toContain('4711')
    expect(JSON.stringify(told)).not.toContain(secret)
  })

  test('never makes an error empty', () => {
    expect(createRedactor({ env: {}, redact: () => '' })('x')).toBe('[redacted]')
  })

  test('that is slow is told of, and is not given more than is shown', () => {
    let time = 0
    const clock = { ...systemClock, now: () => time }
    const told: string[] = []
    let longest = 0
    const own = createRedactor({
      env: {},
      clock,
      logger: { ...silentLogger, warn: (message) => told.push(message) },
      redact: (text) => {
        longest = Math.max(longest, text.length)
        time += 2_000
        return text
      },
    })
    own('x '.repeat(1_000_000))
    expect(told).toEqual(["the application's redact is slow and blocks the process"])
    expect(longest).toBeLessThanOrEqual(16_384)
  })
})

test('a secret that is no escaped text is known as it stands, and variables without a value tell nothing', () => {
  const odd = createRedactor({ env: { A_TOKEN: '100%zz-of-it', B_TOKEN: undefined } })
  expect(odd('it is 100%zz-of-it, really')).toBe('it is [redacted], really')
  expect(odd('undefined')).toBe('undefined')
})

test('a text is well-formed when it is told, whole or cut in the middle of a pair', () => {
  expect(redact('a \ud800 b')).toBe('a \ufffd b')
  const note = ' ... (200 characters in all)'
  expect(redact('\u{1f600}'.repeat(100), { maxLength: note.length + 3 })).toBe(`\u{1f600}\ufffd${note}`)
})
