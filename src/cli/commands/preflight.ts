import { ConfigError } from '../../base/errors/cli-errors.ts'
import { silentLogger } from '../../base/logger.ts'
import { preflight as preflightPage } from '../../runtime/preflight/preflight.ts'
import type { PreflightFinding } from '../../runtime/preflight/preflight-finding.ts'
import { readRuntimeOptions } from '../../runtime/runtime-options.ts'
import type { Store } from '../../store/store.ts'
import { migrateStore } from '../../upkeep/maintenance.ts'
import { command, counted, type ExitCode, exitCodes } from '../command.ts'
import type { Config } from '../config.ts'
import type { Output } from '../output.ts'
import { openStore } from '../target/open-store.ts'
import { storeArgs } from '../target/target-args.ts'

const pageSize = 1_000

export const preflight = command({
  args: {
    'migrate-state': {
      type: 'boolean',
      description: 'Run migrateState where a state does not match, and drop its result',
    },
    ...storeArgs,
    tenant: { ...storeArgs.tenant, description: 'Only this tenant; default: all' },
  },
  about:
    'Compares every open conversation and session of a store with the agents and flows of the config. Runs and writes nothing: no model, tool, hook or step. Exit code 0 when the code can continue all of them, else 1; warnings do not count. With --json, one line for each finding, then a summary.',
  examples: [
    ['preflight', 'in the new code, before a deploy'],
    ['preflight --store postgres://db/agents --config perdure.config.ts', 'against the store of production'],
  ],
  async run({ args, output }) {
    // A deadline that fires, or a migration, would write.
    const { store, place, loaded } = await openStore(args, { logger: silentLogger, expiry: false })
    try {
      if (!loaded) {
        const advice = 'Name the config of the new code with --config'
        throw new ConfigError(
          'perdure.config.ts',
          'is needed: preflight compares its agents and flows with the store',
          advice,
        )
      }
      return await compare(loaded.config, store, place, { ...args, output })
    } finally {
      await store.close()
    }
  },
})

type Comparing = {
  readonly tenant?: string | undefined
  readonly 'migrate-state'?: boolean | undefined
  readonly output: Output
}

async function compare(config: Config, store: Store, place: string, options: Comparing): Promise<ExitCode> {
  const { tenant, 'migrate-state': migrateState = false, output } = options
  const schema = await migrateStore(store, { check: true })
  if (!schema.isCurrent && schema.from !== null) {
    output.item({ type: 'schema', ...schema }, () => [
      `${place} has schema ${schema.from}; this version writes ${schema.to}. Run perdure migrate, then preflight again.`,
    ])
    return exitCodes.failed
  }
  // Not a runtime: one would register its subscribers.
  const { server: _, ...runtimeOptions } = config
  const code = readRuntimeOptions({ ...runtimeOptions, store, logger: silentLogger })
  let [checked, errors, warnings] = [0, 0, 0]
  let after: string | null = null
  do {
    const from: { readonly after?: string } = after === null ? {} : { after }
    const scope = tenant === undefined ? {} : { tenant }
    const page = await preflightPage(code, store, { ...scope, ...from, migrateState, limit: pageSize })
    for (const found of page.findings) {
      if (found.level === 'error') errors += 1
      else warnings += 1
      tell(found, output)
    }
    checked += page.checked
    after = page.after
  } while (after !== null)
  output.item({ type: 'preflight', checked, errors, warnings }, () => [
    `Checked ${checked} open conversations and sessions in ${place}: ${counted(errors, 'error')}, ${counted(warnings, 'warning')}.`,
  ])
  return errors > 0 ? exitCodes.failed : exitCodes.ok
}

function tell(found: PreflightFinding, output: Output): void {
  const { level, kind, tenant, id, message } = found
  output.item({ type: 'finding', ...found }, () => [`${level} ${kind} ${tenant}/${id}: ${message}`])
}
