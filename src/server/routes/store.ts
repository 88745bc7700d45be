import { collectGarbage } from '../../upkeep/collect-garbage.ts'
import { differencesWith } from '../../upkeep/differences-with.ts'
import { examineStore } from '../../upkeep/examine-store.ts'
import { exportStore } from '../../upkeep/export-store.ts'
import { importStore } from '../../upkeep/import-store.ts'
import { migrateStore, unquarantine } from '../../upkeep/whole-store.ts'
import { json } from '../answer.ts'
import { bodyChunks } from '../guard/read-body.ts'
import { noBody, object, type Route, type RouteCall, seq, text } from '../route.ts'
import type { UpkeepOptions } from '../server-options.ts'
import { linesType, streamLines, streamWork } from '../upkeep/stream-lines.ts'

const ofOneTenant = object({ tenant: { ...text, description: 'Only this one. Default: all.' } })
const lines = (description: string) => ({ status: 200, description, type: linesType })

/** What operators do with the whole store. */
export const storeRoutes: readonly Route[] = [
  {
    name: 'exportStore',
    method: 'GET',
    path: '/store/export',
    summary: 'One moment of the whole store, for operators',
    isForOperators: true,
    query: ofOneTenant,
    answer: lines('The export. Without its last line, `end`, it is not whole; a last line `problem` says why.'),
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
    summary: 'Writes an export back, each conversation whole or not at all, for operators',
    isForOperators: true,
    takesLines: true,
    query: object({ skipExisting: { enum: ['true', 'false'], description: 'Leaves what is there. Default: false.' } }),
    answer: lines(
      'Progress, and last the result or the problem. Without a last line, nobody knows; what was imported stays.',
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
    summary: 'Judges every row of the store by its log, for operators',
    isForOperators: true,
    query: ofOneTenant,
    answer: lines('Findings and progress, and last the result or the problem.'),
    handle: (call) => examination(call, call.query, false),
  },
  {
    name: 'repairStore',
    method: 'POST',
    path: '/store/repair',
    summary: 'Also rebuilds what is derived from the logs, for operators',
    isForOperators: true,
    body: ofOneTenant,
    answer: lines('Findings, repairs and progress, and last the result or the problem.'),
    handle: (call) => examination(call, call.body, true),
  },
  {
    name: 'compareStore',
    method: 'POST',
    path: '/store/comparison',
    summary: 'Compares the store with the export that is sent, for operators',
    isForOperators: true,
    takesLines: true,
    query: ofOneTenant,
    answer: lines('A line for each difference, and last the number of them or the problem.'),
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
    summary: 'Has processes work again on a conversation or session that is quarantined, for operators',
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
    summary: 'The schema that the store has, and the one this version writes, for operators',
    isForOperators: true,
    answer: { status: 200, description: '`from`, `to`, and whether they are the same.' },
    handle: async (call) => json(await migrateStore(upkeepIn(call).store, { check: true })),
  },
  {
    name: 'migrateStore',
    method: 'POST',
    path: '/store/migration',
    summary: 'Brings the schema of the store up to date, for operators',
    isForOperators: true,
    body: noBody,
    answer: { status: 200, description: '`from`, `to`, and whether they were the same.' },
    handle: async (call) => json(await call.server.works.run(() => migrateStore(upkeepIn(call).store))),
  },
  {
    name: 'collectGarbage',
    method: 'POST',
    path: '/store/garbage',
    summary: 'Removes what nobody needs any more, or only counts it, for operators',
    isForOperators: true,
    body: object({
      tenant: { ...text, description: 'Only this one. Default: all.' },
      auditOlderThanMs: { ...seq, description: 'Audit rows older than this. Default: they stay.' },
      unsent: { type: 'boolean', description: 'Files that were uploaded and never sent; only while nothing is sent.' },
      compact: { type: 'boolean', description: 'Rewrites an SQLite file; the server answers nobody meanwhile.' },
      dryRun: { type: 'boolean', description: 'Only counts.' },
    }),
    answer: lines('Empty lines while it works, and last the result or the problem.'),
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

/** Routes for operators are only there with it. */
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
