import { expect, test } from 'vitest'
import { CommandLineError } from '../base/errors/cli-errors.ts'
import { type ErrorCode, errorCodes } from '../base/errors/codes.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'
import { exitCodeOf } from './command.ts'

test.each([
  ['invalid_command', 2],
  ['invalid_answer', 2],
  ['conversation_not_found', 3],
  ['no_session', 3],
  ['conversation_busy', 4],
  ['not_suspended', 4],
  ['flow_diverged', 4],
  ['store_failed', 5],
  ['server_unreachable', 5],
  ['rate_limited', 5],
  ['model_failed', 1],
] as const)('%s ends with %i', (code, exitCode) => {
  expect(exitCodeOf(new PerdureError(code, 'It broke.'))).toBe(exitCode)
})

test('every error ends with a code that is documented, and none with success', () => {
  const codes = Object.keys(errorCodes) as ErrorCode[]
  expect(new Set(codes.map((code) => exitCodeOf(new PerdureError(code, 'It broke.'))))).toEqual(
    new Set([1, 2, 3, 4, 5]),
  )
  expect(exitCodeOf(new Error('plain'))).toBe(1)
  expect(exitCodeOf(new CommandLineError('no'))).toBe(2)
})
