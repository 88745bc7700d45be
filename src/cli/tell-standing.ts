import type { RemoteStanding } from '../client/flow.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import type { Output } from './output.ts'
import { type Printable, safe } from './terminal/safe-text.ts'
import { excerpt } from './transcript/excerpt.ts'

/** Where a session stands after it was started or resumed. A session that failed is a failure. */
export function tellStanding(id: string, standing: RemoteStanding, output: Output): ExitCode {
  output.result({ id, ...standing }, () => [told(id, standing, output)])
  return standing.status === 'failed' ? exitCodes.failed : exitCodes.ok
}

function told(id: string, standing: RemoteStanding, { colours }: Output): Printable {
  switch (standing.status) {
    case 'done':
      return safe`${id} is ${colours.green('done')}: ${excerpt(standing.result, false)}`
    case 'failed':
      return safe`${id} ${colours.red('failed')}: ${standing.error}`
    case 'suspended':
      return safe`${id} ${colours.yellow('waits')} for ${excerpt(standing.tag, false)}`
    case 'running':
      return safe`${id} is recorded. It goes on where a process has the flow; --work makes this one do so.`
  }
}
