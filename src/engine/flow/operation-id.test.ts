import { expect, test } from 'vitest'
import { operationId } from './flow-state.ts'

test('an operation is named by its session, generation and position', () => {
  expect(operationId('s1', 2, 3)).toBe('s1/2/3')
})

test('a session of up to 200 bytes is named as it is, a longer one by its hash, so that the id stays short', () => {
  const [longest, longer] = ['é'.repeat(100), `${'é'.repeat(100)}x`]
  expect(operationId(longest, 0, 1)).toBe(`${longest}/0/1`)
  expect(operationId(longer, 0, 1)).toMatch(/^[0-9a-f]{64}\/0\/1$/)
  expect(operationId(longer, 0, 1)).not.toBe(operationId(`${longer}y`, 0, 1))
})
