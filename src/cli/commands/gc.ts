import { CommandLineError } from '../../base/errors/cli-errors.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { ofTenantArgs, tenantOf, wholeStoreArgs, withUpkeep } from '../upkeep/with-upkeep.ts'

export const gc = command({
  args: {
    'audit-older-than': { type: 'string', valueHint: '30d', description: 'Remove audit rows older than this' },
    unsent: {
      type: 'boolean',
      description: 'Remove files that were uploaded and never sent; only while nothing is being sent',
    },
    compact: {
      type: 'boolean',
      description: 'Rewrite an SQLite file to give room back; a server answers nobody meanwhile',
    },
    'dry-run': { type: 'boolean', description: 'Only count' },
    ...ofTenantArgs,
    ...wholeStoreArgs,
  },
  about: 'Without options: blobs that nothing refers to, and rows of conversations that are gone.',
  examples: [
    ['gc --dry-run --audit-older-than 30d', 'what would go?'],
    ['gc --audit-older-than 30d --compact', 'once a month'],
    ['gc --url http://127.0.0.1:4111', 'of a running server'],
  ],
  run: (context) =>
    withUpkeep(context, async (target) => {
      const { args, output } = context
      const older = args['audit-older-than']
      const dryRun = args['dry-run'] ?? false
      const garbage = await target.collectGarbage({
        ...tenantOf(args),
        ...(older === undefined ? {} : { auditOlderThanMs: durationOf(older) }),
        unsent: args.unsent ?? false,
        compact: args.compact ?? false,
        dryRun,
      })
      const { modelCalls, blobs, blobBytes, pins, orphans, isCompacted } = garbage
      output.result({ dryRun, ...garbage }, () => [
        `${dryRun ? 'Would remove' : 'Removed'} ${modelCalls} audit rows, ${blobs} blobs (${blobBytes} bytes), ${pins} pins and ${orphans} rows of conversations that are gone.`,
        ...(isCompacted ? ['The file was compacted.'] : []),
      ])
      return exitCodes.ok
    }),
})

const units = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

function durationOf(text: string): number {
  const [, count, unit] = /^(\d{1,9})([smhdw])$/.exec(text) ?? []
  if (!count) throw new CommandLineError(`--audit-older-than is '${text}', and must be like 30d, 12h or 45m`, 'gc')
  return Number(count) * units[unit as keyof typeof units]
}
