import { expect, test, vi } from 'vitest'
import { prometheus, telemetry } from './index.ts'

vi.mock('@opentelemetry/api', () => {
  throw new Error('Cannot find package')
})

test('without its package, telemetry says what to install, and counts for Prometheus need none', async () => {
  await expect(telemetry()).rejects.toMatchObject({
    code: 'missing_dependency',
    message: expect.stringContaining('npm install @opentelemetry/api'),
  })
  expect(prometheus().text()).toBe('')
})

test('an option that there is not is refused before anything is loaded', async () => {
  await expect(telemetry({ contents: true } as never)).rejects.toMatchObject({ code: 'invalid_definition' })
})
