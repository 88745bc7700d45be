import { afterEach, expect, test, vi } from 'vitest'
import { demoModels } from './demo-models.ts'

const wish = { isOffline: false, pace: 0 }

afterEach(() => {
  vi.doUnmock('@ai-sdk/anthropic')
  vi.resetModules()
})

test('a script plays the model without a key, and with --offline', async () => {
  expect(await demoModels({ ...wish, env: {} })).toMatchObject({ isScripted: true })
  expect(await demoModels({ ...wish, env: { OPENAI_API_KEY: 'k' }, isOffline: true })).toMatchObject({
    isScripted: true,
  })
})

test.each([
  [{ ANTHROPIC_API_KEY: 'k' }, 'anthropic.messages', 'claude-sonnet-4-5'],
  [{ OPENAI_API_KEY: 'k' }, 'openai.responses', 'gpt-5-mini'],
  [{ OPENAI_API_KEY: 'k', PERDURE_MODEL: 'gpt-x' }, 'openai.responses', 'gpt-x'],
  [{ PERDURE_BASE_URL: 'http://127.0.0.1:1/v1', OPENAI_API_KEY: 'k' }, 'compatible.chat', 'default'],
])('%j has a real one', async (env, provider, modelId) => {
  const { support, isScripted, label } = await demoModels({ ...wish, env })
  expect({ provider: support.provider, modelId: support.modelId, isScripted }).toEqual({
    provider,
    modelId,
    isScripted: false,
  })
  expect(label).toContain(modelId)
  expect(label).not.toMatch(/\bk\b/)
})

test('a missing package is told with what to install', async () => {
  vi.doMock('@ai-sdk/anthropic', () => {
    throw new Error('not found')
  })
  await expect(demoModels({ ...wish, env: { ANTHROPIC_API_KEY: 'k' } })).rejects.toMatchObject({
    code: 'missing_dependency',
    message: expect.stringMatching(/unless with --offline, .* npm install @ai-sdk\/anthropic/),
  })
})

test('an address that is none is told before anything is asked', async () => {
  await expect(demoModels({ ...wish, env: { PERDURE_BASE_URL: 'localhost:11434' } })).rejects.toMatchObject({
    code: 'invalid_command',
    message: expect.stringContaining("PERDURE_BASE_URL is 'localhost:11434', which is not like http://"),
  })
})
