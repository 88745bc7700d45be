import { CommandLineError } from '../../base/errors/cli-errors.ts'
import type { Examination } from '../../upkeep/examine-store.ts'
import type { Finding } from '../../upkeep/finding.ts'
import type { Repair } from '../../upkeep/repair-conversation.ts'
import { command, counted, type ExitCode, exitCodes } from '../command.ts'
import type { Output } from '../output.ts'
import { readExport, showProgress } from '../upkeep/whole-file.ts'
import { ofTenantArgs, tenantOf, type UpkeepTarget, wholeStoreArgs, withUpkeep } from '../upkeep/with-upkeep.ts'

export const doctor = command({
  args: {
    repair: { type: 'boolean', description: 'Rebuild data that is derived from the logs, and print what was done' },
    against: {
      type: 'string',
      valueHint: 'export',
      description: 'Also compare the store with this export; - is stdin',
    },
    ...ofTenantArgs,
    ...wholeStoreArgs,
  },
  about:
    'Exit code 0 when nothing is wrong, else 1. A repair never changes events, and skips conversations that a process works on. With --json, one line for each finding, repair and difference, then a summary.',
  examples: [
    ['doctor', 'look'],
    ['doctor --repair', 'look, rebuild what is derived, look again'],
    ['doctor --against backup.jsonl', 'is the store what the backup says?'],
    ['doctor --url http://127.0.0.1:4111', 'of a running server'],
  ],
  run: (context) => {
    const { args, output } = context
    const work = async (target: UpkeepTarget) => {
      // Before any repair: a missing file is an error.
      const against = args.against === undefined ? null : readExport(args.against, 'doctor')
      const examination = await showProgress('examining', (onProgress) =>
        target.examine({
          ...tenantOf(args),
          repair: args.repair ?? false,
          onFinding: (found) => tellFinding(found, output),
          onRepair: (repair) => tellRepair(repair, output),
          onProgress,
        }),
      )
      const differences = against ? await compare(target, against, tenantOf(args), output) : 0
      return tellEnd({ ...examination, differences }, target.place, output)
    }
    return withUpkeep(context, work, {
      whenInterrupted: 'The examination was not finished; finished repairs stay. Run it again.',
    })
  },
})

function tellFinding(found: Finding, output: Output): void {
  const { code, severity, tenant, conversation, problem, advice, isDerived } = found
  output.item({ type: 'finding', ...found }, () => [
    `${severity} ${code} ${placeOf(tenant, conversation)}: ${problem}.`,
    `  ${advice}${isDerived ? ' It is derived.' : ''}`,
  ])
}

function tellRepair(repair: Repair, output: Output): void {
  const { tenant, id, outcome, did } = repair
  const told = {
    repaired: `repaired ${placeOf(tenant, id)}:`,
    held: `left ${placeOf(tenant, id)} alone: a process works on it. Run it again later.`,
    moved: `left ${placeOf(tenant, id)} alone: it changed during the repair. Run it again.`,
    nothing: `left ${placeOf(tenant, id)} alone: nothing is wrong with it any more.`,
  }[outcome]
  output.item({ type: 'repair', ...repair }, () => [told, ...did.map((what) => `  ${what}`)])
}

function compare(
  target: UpkeepTarget,
  chunks: AsyncIterable<Uint8Array>,
  tenant: { readonly tenant?: string },
  output: Output,
): Promise<number> {
  const where = { store: 'only the store has', export: 'only the export has', both: 'both have, and differ in,' }
  return target.compareWith(
    chunks,
    (difference) => {
      const { tenant: of, what, id, has } = difference
      output.item({ type: 'difference', ...difference }, () => [`difference: ${where[has]} ${what} ${placeOf(of, id)}`])
    },
    tenant,
  )
}

function tellEnd(end: Examination & { differences: number }, place: string, output: Output): ExitCode {
  const { conversations, digest, faults, notices, repaired, differences } = end
  const counts = [
    counted(faults, 'fault'),
    counted(notices, 'notice'),
    ...(repaired > 0 ? [`${repaired} repaired`] : []),
    ...(differences > 0 ? [counted(differences, 'difference')] : []),
  ]
  output.item({ type: 'examination', ...end }, () => [
    `${counted(conversations, 'conversation')} in ${place}: ${counts.join(', ')}.`,
    `Digest: ${digest}`,
  ])
  return faults + differences > 0 ? exitCodes.failed : exitCodes.ok
}

function placeOf(tenant: string | null, conversation: string | null): string {
  if (tenant === null) return 'the store'
  return conversation === null ? tenant : `${tenant}/${conversation}`
}

export const gc = command({
  args: {
    'audit-older-than': { type: 'string', valueHint: '30d', description: 'Remove audit rows older than this' },
    unsent: {
      type: 'boolean',
      description: 'Remove files that were uploaded and never sent; only while no message is being sent',
    },
    compact: {
      type: 'boolean',
      description: 'Rewrite a SQLite file to free disk space; a server does not answer while it runs',
    },
    'dry-run': { type: 'boolean', description: 'Only count' },
    ...ofTenantArgs,
    ...wholeStoreArgs,
  },
  about: 'Without options, it removes unreferenced blobs and rows of deleted conversations.',
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
        `${dryRun ? 'Would remove' : 'Removed'} ${modelCalls} audit rows, ${blobs} blobs (${blobBytes} bytes), ${pins} pins and ${orphans} rows of deleted conversations.`,
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

export const migrate = command({
  args: {
    check: { type: 'boolean', description: 'Only check: exit code 0 when the schema is current, else 1' },
    ...wholeStoreArgs,
  },
  about: 'A store does this by itself when it is first used. A schema newer than this version is refused.',
  examples: [
    ['migrate', 'before a deploy'],
    ['migrate --check', 'in a health check'],
    ['migrate --check --url http://127.0.0.1:4111', 'of a running server'],
  ],
  run: (context) => {
    const { args, output } = context
    const check = args.check ?? false
    const work = async (target: UpkeepTarget) => {
      const { place } = target
      const migration = await target.migrate({ check })
      const { from, to, isCurrent } = migration
      output.result(migration, () => {
        if (isCurrent) return [`${place} has schema ${to}, which is current.`]
        const before = from === null ? 'no schema' : `schema ${from}`
        return [
          check ? `${place} has ${before}; this version writes ${to}.` : `${place}: from ${before} to schema ${to}.`,
        ]
      })
      return check && !isCurrent ? exitCodes.failed : exitCodes.ok
    }
    return withUpkeep(context, work, { create: !check })
  },
})

export const unquarantine = command({
  args: {
    conversation: { type: 'positional', required: true, description: 'Its id, or the id of a session' },
    tenant: { ...ofTenantArgs.tenant, description: 'Its tenant; default: default' },
    ...wholeStoreArgs,
  },
  about:
    'Exit code 0 if it was quarantined, else 1. A conversation is quarantined when five processes in a row ended while they worked on it: find out why first, or it ends five more. perdure doctor lists quarantined conversations.',
  examples: [
    ['unquarantine ticket-42', 'let processes work on it again'],
    ['unquarantine ticket-42 --tenant acme --url http://127.0.0.1:4111', 'on a running server'],
  ],
  run: (context) =>
    withUpkeep(context, async (target) => {
      const { args, output } = context
      const { conversation, tenant = 'default' } = args
      const unquarantined = await target.unquarantine({ tenant, id: conversation })
      output.result({ tenant, id: conversation, unquarantined }, () => [
        unquarantined
          ? `Released '${conversation}': processes work on it again.`
          : `'${conversation}' is not quarantined.`,
      ])
      return unquarantined ? exitCodes.ok : exitCodes.failed
    }),
})
