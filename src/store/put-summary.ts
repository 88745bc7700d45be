import { readArgument } from '../base/errors/read-options.ts'
import { ConversationNotFoundError, InvalidArgumentError, SummaryOverlapError } from '../base/errors/store-errors.ts'
import { checkId } from './checks.ts'
import type { Driver } from './driver.ts'
import type { Summary } from './records.ts'
import { encodeSummary } from './rows.ts'

/** Checks a summary and puts it, unless the log or another summary does not allow it. */
export async function putSummary(
  driver: Pick<Driver, 'putSummary'>,
  tenant: string,
  id: string,
  summary: Summary,
): Promise<void> {
  checkId('conversation id', id)
  const row = readArgument('summary', () => encodeSummary(summary))
  const outcome = await driver.putSummary(tenant, id, row)
  if (outcome === 'ok') return
  if (outcome === 'missing') throw new ConversationNotFoundError(id)
  if ('overlaps' in outcome) throw new SummaryOverlapError(id, row, outcome.overlaps)
  const problem = `is ${row.toSeq}, past the end of '${id}' at ${outcome.pastEnd}; use a seq of its log`
  throw new InvalidArgumentError('toSeq', problem)
}
