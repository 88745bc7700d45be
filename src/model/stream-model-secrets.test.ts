import { APICallError } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { everyProperty, hello, httpError, model, start, streamOf } from '../../test/support/unruly-model.ts'
import { encode } from '../log/codec.ts'

describe('secrets', () => {
  const error = new APICallError({
    message: 'Incorrect API key provided: sk-live-0123456789abcdefXYZ. authorization: Bearer hidden-token-1',
    url: 'https://host/v1?key=hidden-key-2',
    requestBodyValues: { headers: { 'x-api-key': 'hidden-key-3' }, messages: ['hidden-body-4'] },
    responseHeaders: { 'set-cookie': 'hidden-cookie-5' },
    responseBody: 'hidden-body-6',
    cause: new Error('hidden-cause-7'),
    statusCode: 401,
  })

  test.each<[string, () => unknown]>([
    ['a rejection', () => Promise.reject(error)],
    ['an error part', () => streamOf([{ type: 'error', error }])],
    ['an error after the first chunk', () => streamOf([hello], error)],
  ])('of %s reach neither the error nor the report', async (_, step) => {
    const call = start({ models: [model([step])] })
    const message = await call.message
    const everything = [
      everyProperty(message.error),
      message.error!.stack,
      encode(message.parts),
      JSON.stringify(call.attempts),
    ].join('\n')
    expect(everything).toContain('Incorrect API key')
    expect(everything).not.toMatch(/hidden|0123456789abcdef/)
    expect(message.error).not.toHaveProperty('cause')
  })
})

test('an error names the model and the status, and says what to do', async () => {
  const { error } = await start({ models: [model([() => Promise.reject(httpError(401))])] }).message
  expect(error!.message).toBe(
    "acme/m1 did not accept the credentials (status 401): scripted 401. Check the provider's key and what it may use.",
  )
  expect(error).toMatchObject({ provider: 'acme', modelId: 'm1', statusCode: 401, retryable: false })
})
