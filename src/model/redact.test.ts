import { describe, expect, test } from 'vitest'
import { redact } from './redact.ts'

const secret = 's3cr3tS3cr3tS3cr3t'

describe('redact', () => {
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
    ['headers as JSON', `{"x-api-key":"${secret}","content-type":"application/json"}`],
    ['headers as JSON in JSON', `{\\"x-api-key\\":\\"${secret}\\"}`],
    ['basic credentials', 'Basic dXNlcjpwYXNzd29yZA== refused'],
    ['a cookie', `cookie: session=${secret}; theme=dark`],
    ['a key in the query', `GET https://host/v1?alt=sse&key=${secret}#x failed`],
    ['a token in the query', `https://host/v1?access_token=${secret}&x=1`],
    ['a signature in the query', `https://host/v1?X-Amz-Signature=${secret}`],
    ['a password in an address', `connect https://user:${secret}@host/v1`],
    ['a named key', `apiKey=${secret}`],
    ['a password', `password is ${secret}`],
    ['a long random word', 'used 0123456789abcdef0123456789abcdef to sign'],
    ['a secret after a line break', `x-goog-api-key:\n ${secret}`],
  ])('takes out %s', (_, text) => {
    const clean = redact(text)
    expect(clean).toContain('[redacted]')
    for (const word of [secret, 'abc123', '6789', 'AbC_dEf', 'AIza', 'gsk_', 'AKIA', 'eyJ', 'dXNlc', '01234567']) {
      expect(clean).not.toContain(word)
    }
  })

  test.each([
    'Rate limit reached for gpt-5-mini in organization org-abc on tokens per min (TPM): Limit 30000, Used 29000',
    'prompt is too long: 210000 tokens > 200000 maximum',
    'The model `claude-sonnet-4-5-20250929` does not exist (request req_011CSHoEeqs5C35K2UUqR7Fy)',
    "Invalid schema for function 'refund': 'cents' is required",
    'request id 0b7b1a52-9f2e-4c55-8a53-3f1f0c0a8f10',
    'Cannot connect to API: connect ECONNREFUSED 127.0.0.1:11434',
    'Overloaded',
  ])('leaves alone: %s', (text) => {
    expect(redact(text)).toBe(text)
  })

  test('keeps a message to one line of bounded length', () => {
    const clean = redact(`<html>\n\n  <body>${'x '.repeat(100_000)}`)
    expect(clean).not.toContain('\n')
    expect(clean.length).toBeLessThan(600)
  })

  test('cuts after it has redacted, so that no half of a key is left', () => {
    expect(redact(`${'word '.repeat(98)} sk-ant-api03-AbCdEf123456`)).not.toContain('sk-ant')
  })
})
