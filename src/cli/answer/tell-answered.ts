import type { Answered, WinningResolution } from '../../runtime/answer-call.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import type { Output } from '../output.ts'
import { type Printable, safe } from '../terminal/safe-text.ts'
import { ago } from '../terminal/time.ts'
import { excerpt } from '../transcript/excerpt.ts'

/** Of all who answer one wins; the others are told who did. */
export function tellAnswered(answered: Answered, done: Printable, output: Output): ExitCode {
  output.result(answered, () => [answered.accepted ? output.colours.green(done) : lost(answered.resolution, output)])
  return answered.accepted ? exitCodes.ok : exitCodes.conflict
}

function lost(first: WinningResolution, { colours }: Output): Printable {
  return safe`${colours.yellow('Too late:')} ${first.who} answered first, ${ago(first.at)}: ${decision(first)}.`
}

function decision({ status, value, edited }: WinningResolution): string {
  if (edited) return `approved with ${excerpt(edited.after, false)}`
  if (status === 'resolved') return value === true ? 'approved' : excerpt(value, false)
  const { reason } = Object(value) as { reason?: unknown }
  return typeof reason === 'string' && reason !== '' ? `${status}, because ${reason}` : status
}
