import { CommandLineError } from '../../base/errors/cli-errors.ts'
import type { FailedDelivery, SubscriberState } from '../../store/outbox.ts'
import { command, countOf, exitCodes } from '../command.ts'
import type { Output } from '../output.ts'
import { ago, type SafeText, table } from '../terminal/text.ts'
import { type UpkeepTarget, wholeStoreArgs, withUpkeep } from '../upkeep/with-upkeep.ts'

const pageSize = 1_000

export const deliveries = command({
  args: {
    subscriber: { type: 'string', valueHint: 'name', description: 'Only deliveries to this subscriber' },
    limit: { type: 'string', valueHint: 'n', description: 'How many at most; default: 50' },
    before: { type: 'string', valueHint: 'id', description: 'Continue after the last delivery of an earlier page' },
    retry: { type: 'string', valueHint: 'ids', description: 'Try these again: ids with commas between, or all' },
    discard: { type: 'string', valueHint: 'ids', description: 'Forget these: ids with commas between, or all' },
    remove: { type: 'string', valueHint: 'name', description: 'Forget a subscriber, with all that waits for it' },
    ...wholeStoreArgs,
  },
  about:
    'Lists the subscribers of a store and what could not be delivered to them. What is tried again is delivered by a process that has the subscriber.',
  examples: [
    ['deliveries', 'what failed?'],
    ['deliveries --retry all --subscriber slack', 'the receiver is back'],
    ['deliveries --discard 12,15 --url http://127.0.0.1:4111', 'on a running server'],
  ],
  run: (context) =>
    withUpkeep(context, async ({ outbox }) => {
      const { args, output } = context
      const { subscriber, retry, discard, remove } = args
      if ([retry, discard, remove].filter((given) => given !== undefined).length > 1)
        throw new CommandLineError('--retry, --discard and --remove exclude each other', 'deliveries')
      if (remove !== undefined) {
        const removed = await outbox.removeSubscriber(remove)
        output.result({ subscriber: remove, removed }, () => [
          removed ? `Removed '${remove}'.` : `There is no subscriber '${remove}'.`,
        ])
        return removed ? exitCodes.ok : exitCodes.failed
      }
      if (retry !== undefined || discard !== undefined) {
        const how = retry === undefined ? 'discard' : 'retry'
        const count = await endAll(outbox, retry ?? discard!, how, subscriber)
        output.result({ [how === 'retry' ? 'retried' : 'discarded']: count }, () => [
          `${how === 'retry' ? 'Put back' : 'Discarded'} ${count} ${count === 1 ? 'delivery' : 'deliveries'}.`,
        ])
        return count > 0 ? exitCodes.ok : exitCodes.failed
      }
      const before = countOf('before', args.before)
      const page = {
        limit: countOf('limit', args.limit) ?? 50,
        ...(subscriber === undefined ? {} : { subscriber }),
        ...(before === undefined ? {} : { before }),
      }
      const [subscribers, failed] = [await outbox.subscribers(), await outbox.failed(page)]
      output.result({ subscribers, deliveries: failed }, () => [
        ...subscriberLines(subscribers, output),
        ...failedLines(failed, output),
      ])
      return exitCodes.ok
    }),
})

type Shown = Pick<Output, 'colours' | 'width'>
type Line = string | SafeText

function subscriberLines(subscribers: readonly SubscriberState[], { colours, width }: Shown): Line[] {
  if (subscribers.length === 0) return ['There are no subscribers.']
  const rows = subscribers.map(({ name, waiting, failed, stoppedAt, claimedAt }) => [
    ...[name, String(waiting), String(failed)],
    stoppedAt === null ? ago(claimedAt) : `stopped ${ago(stoppedAt)}`,
  ])
  return table(['SUBSCRIBER', 'WAITING', 'FAILED', 'CLAIMED'].map(colours.bold), rows, width)
}

function failedLines(failed: readonly FailedDelivery[], { colours, width }: Shown): Line[] {
  if (failed.length === 0) return ['', 'Nothing has failed.']
  const rows = failed.map(({ id, subscriber, tenant, conversationId, seq, tries, failedAt, error }) => [
    ...[String(id), subscriber, `${tenant}/${conversationId}`, String(seq), String(tries), ago(failedAt), error],
  ])
  const heading = ['ID', 'SUBSCRIBER', 'CONVERSATION', 'SEQ', 'TRIES', 'FAILED', 'ERROR']
  return ['', ...table(heading.map(colours.bold), rows, width)]
}

async function endAll(
  outbox: UpkeepTarget['outbox'],
  given: string,
  how: 'retry' | 'discard',
  subscriber: string | undefined,
): Promise<number> {
  if (given !== 'all') return outbox.endFailed(idsIn(given, how), how)
  let count = 0
  let before: number | undefined
  for (;;) {
    const page = await outbox.failed({
      limit: pageSize,
      ...(subscriber === undefined ? {} : { subscriber }),
      ...(before === undefined ? {} : { before }),
    })
    const ids = page.map(({ id }) => id)
    if (ids.length > 0) count += await outbox.endFailed(ids, how)
    before = ids.at(-1)
    if (page.length < pageSize) return count
  }
}

function idsIn(text: string, option: string): number[] {
  return text.split(',').map((part) => {
    if (!/^[1-9]\d{0,14}$/.test(part.trim()))
      throw new CommandLineError(`--${option} is '${text}', and must be ids like 12,15 or all`, 'deliveries')
    return Number(part)
  })
}
