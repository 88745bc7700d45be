import type { Examination } from '../../upkeep/examine-store.ts'
import type { Finding } from '../../upkeep/finding.ts'
import type { Repair } from '../../upkeep/repair-conversation.ts'
import { command } from '../command.ts'
import { counted } from '../counted.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import type { Output } from '../output.ts'
import { showProgress } from '../upkeep/show-progress.ts'
import type { UpkeepTarget } from '../upkeep/upkeep-target.ts'
import { readExport } from '../upkeep/whole-file.ts'
import { ofTenantArgs, tenantOf, wholeStoreArgs, withUpkeep } from '../upkeep/with-upkeep.ts'

export const doctor = command({
  args: {
    repair: { type: 'boolean', description: 'Rebuild what is derived from the logs, and say what was done' },
    against: {
      type: 'string',
      valueHint: 'export',
      description: 'Also compare the store with this export; - is stdin',
    },
    ...ofTenantArgs,
    ...wholeStoreArgs,
  },
  about:
    'Exit code 0 when nothing is wrong, else 1. A repair never touches events, and leaves alone what somebody works on. With --json, a line for each finding, repair and difference, and a last one that sums up.',
  examples: [
    ['doctor', 'look'],
    ['doctor --repair', 'look, rebuild what is derived, look again'],
    ['doctor --against backup.jsonl', 'is the store what the backup says?'],
    ['doctor --url http://127.0.0.1:4111', 'of a running server'],
  ],
  run: (context) => {
    const { args, output } = context
    const work = async (target: UpkeepTarget) => {
      // Told before anything is repaired where it is not there.
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
      whenInterrupted: 'The examination was not finished; what was repaired stays so. Run it again.',
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
    held: `left ${placeOf(tenant, id)} alone: somebody works on it. Run it again later.`,
    moved: `left ${placeOf(tenant, id)} alone: it changed meanwhile. Run it again.`,
    nothing: `left ${placeOf(tenant, id)} alone: by now nothing is wrong with it.`,
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
