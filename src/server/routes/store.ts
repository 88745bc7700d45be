import { collectGarbage } from '../../upkeep/collect-garbage.ts'
import { differencesWith } from '../../upkeep/differences-with.ts'
import { examineStore } from '../../upkeep/examine-store.ts'
import { exportStore } from '../../upkeep/export-store.ts'
import { importStore } from '../../upkeep/import-store.ts'
import { migrateStore, unquarantine } from '../../upkeep/maintenance.ts'
import { readMetrics } from '../../upkeep/metrics.ts'
import { prometheusType } from '../../upkeep/prometheus-text.ts'
import { readStats, type StatsWindow } from '../../upkeep/stats.ts'
import { bytesAnswer, json } from '../answer.ts'
import { bodyChunks } from '../guard/read-body.ts'
import { emptyBody, object, type Route, type RouteCall, seq, text } from '../route.ts'
import type { UpkeepOptions } from '../server-options.ts'
import { linesType, streamLines, streamWork } from '../upkeep/stream-lines.ts'

const ofOneTenant = object({ tenant: { ...text, description: 'Only this tenant. Default: all.' } })
const lines = (description: string) => ({ status: 200, description, type: linesType })

/** Operator routes: maintenance of the whole store. */
export const storeRoutes: readonly Route[] = [
  {
    name: 'stats',
    method: 'GET',
    path: '/stats',
    summary: 'How all tenants have been doing over the last hour or day, for operators',
    isForOperators: true,
    query: object({ window: { enum: ['hour', 'day'], description: 'Default: hour.' } }),
    answer: { status: 200, description: 'Figures in buckets. `isPartial`: only the newest were read.' },
    async handle(call) {
      const { window } = call.query as { window?: StatsWindow }
      return json(await readStats(upkeepIn(call).store, window))
    },
  },
  {
    name: 'metrics',
    method: 'GET',
    path: '/metrics',
    summary: 'Figures of the whole store and counts of this process, for Prometheus, for operators',
    isForOperators: true,
    answer: {
      status: 200,
      description: 'The text format of Prometheus. `perdure_recent_*` are of the last five minutes.',
      type: 'text/plain',
    },
    async handle(call) {
      const { store, metrics } = upkeepIn(call)
      const text = `${await readMetrics(store)}${metrics?.text() ?? ''}`
      return bytesAnswer([Buffer.from(text)], { 'content-type': prometheusType })
    },
  },
  {
    name: 'exportStore',
    method: 'GET',
    path: '/store/export',
    summary: 'Exports a consistent state of the whole store, for operators',
    isForOperators: true,
    query: ofOneTenant,
    answer: lines(
      'The export. It is complete only with the last line `end`; a last line `problem` says why it is not.',
    ),
    async handle(call) {
      let conversations = 0
      return streamLines(call, {
        headers: () => ({ 'perdure-conversations': String(conversations) }),
        problemLine: (problem) => `${JSON.stringify({ line: 'problem', problem })}\n`,
        async work(output) {
          await exportStore(upkeepIn(call).store, (piece) => output.write(piece), {
            ...tenantIn(call.query),
            onProgress: ({ total }) => {
              conversations = total ?? 0
            },
          })
          return ''
        },
      })
    },
  },
  {
    name: 'importStore',
    method: 'POST',
    path: '/store/import',
    summary: 'Imports an export, each conversation atomically, for operators',
    isForOperators: true,
    takesLines: true,
    query: object({
      skipExisting: { enum: ['true', 'false'], description: 'Skips conversations that exist. Default: false.' },
    }),
    answer: lines(
      'Progress, then the result or the problem. Without either, the import may be incomplete; imported conversations stay.',
    ),
    handle: (call) =>
      streamWork(call, ({ onProgress }) =>
        importStore(upkeepIn(call).store, linesOf(call), {
          skipExisting: call.query['skipExisting'] === 'true',
          onProgress,
        }),
      ),
  },
  {
    name: 'examineStore',
    method: 'GET',
    path: '/store/examination',
    summary: 'Checks every row of the store against its log, for operators',
    isForOperators: true,
    query: ofOneTenant,
    answer: lines('Findings and progress, then the result or the problem.'),
    handle: (call) => examination(call, call.query, false),
  },
  {
    name: 'repairStore',
    method: 'POST',
    path: '/store/repair',
    summary: 'Checks the store and rebuilds what is derived from the logs, for operators',
    isForOperators: true,
    body: ofOneTenant,
    answer: lines('Findings, repairs and progress, then the result or the problem.'),
    handle: (call) => examination(call, call.body, true),
  },
  {
    name: 'compareStore',
    method: 'POST',
    path: '/store/comparison',
    summary: 'Compares the store with the export in the body, for operators',
    isForOperators: true,
    takesLines: true,
    query: ofOneTenant,
    answer: lines('A line for each difference, then their number or the problem.'),
    handle: (call) =>
      streamWork(call, async ({ tell }) => {
        const differences = await differencesWith(
          upkeepIn(call).store,
          linesOf(call),
          (difference) => tell('difference', difference),
          tenantIn(call.query),
        )
        return { differences }
      }),
  },
  {
    name: 'unquarantine',
    method: 'POST',
    path: '/store/unquarantine',
    summary: 'Lets processes work on a quarantined conversation or session again, for operators',
    isForOperators: true,
    body: object({ id: text, tenant: { ...text, description: "Default: 'default'." } }, ['id']),
    answer: { status: 200, description: '`unquarantined`: false when it is not quarantined.' },
    async handle(call) {
      const { id, tenant = 'default' } = call.body as { readonly id: string; readonly tenant?: string }
      return json({ unquarantined: await unquarantine(upkeepIn(call).store, { tenant, id }) })
    },
  },
  {
    name: 'checkSchema',
    method: 'GET',
    path: '/store/migration',
    summary: 'The schema version of the store, and the one this release writes, for operators',
    isForOperators: true,
    answer: { status: 200, description: '`from`, `to`, and whether they are the same.' },
    handle: async (call) => json(await migrateStore(upkeepIn(call).store, { check: true })),
  },
  {
    name: 'migrateStore',
    method: 'POST',
    path: '/store/migration',
    summary: 'Migrates the schema of the store, for operators',
    isForOperators: true,
    body: emptyBody,
    answer: { status: 200, description: '`from`, `to`, and whether they were the same.' },
    handle: async (call) => json(await call.server.maintenanceJobs.run(() => migrateStore(upkeepIn(call).store))),
  },
  {
    name: 'collectGarbage',
    method: 'POST',
    path: '/store/garbage',
    summary: 'Removes data that nothing refers to, or only counts it, for operators',
    isForOperators: true,
    body: object({
      tenant: { ...text, description: 'Only this tenant. Default: all.' },
      auditOlderThanMs: { ...seq, description: 'Also removes audit rows older than this. Default: they stay.' },
      unsent: {
        type: 'boolean',
        description: 'Also removes files that were uploaded but never sent. Only while no messages are being sent.',
      },
      compact: {
        type: 'boolean',
        description: 'Rewrites an SQLite file; the server answers no requests while it runs.',
      },
      dryRun: { type: 'boolean', description: 'Counts without removing.' },
    }),
    answer: lines('Empty lines while it works, then the result or the problem.'),
    handle: (call) =>
      streamWork(call, ({ signal }) => collectGarbage(upkeepIn(call).store, { ...Object(call.body), signal })),
  },
]

function examination(call: RouteCall, asked: unknown, repair: boolean): Promise<Response> {
  const { store, agents } = upkeepIn(call)
  return streamWork(call, ({ tell, onProgress, signal }) =>
    examineStore(store, {
      ...tenantIn(asked),
      ...(agents ? { agents } : {}),
      repair,
      onFinding: (found) => tell('finding', found),
      onRepair: (done) => tell('repair', done),
      onProgress,
      signal,
    }),
  )
}

/** Operator routes exist only with `upkeep`. */
function upkeepIn({ server }: RouteCall): UpkeepOptions {
  return server.settings.upkeep!
}

function tenantIn(asked: unknown): { readonly tenant?: string } {
  const { tenant } = Object(asked) as { readonly tenant?: string }
  return tenant === undefined ? {} : { tenant }
}

function linesOf({ request, server }: RouteCall): AsyncIterable<Uint8Array> {
  return bodyChunks(request, server.settings.limits.stallMs)
}
