import { CutOffError } from '../../base/errors/cli-errors.ts'
import type { Difference } from '../../upkeep/differences-with.ts'
import type { Finding } from '../../upkeep/finding.ts'
import type { Migration } from '../../upkeep/migrate-store.ts'
import type { Repair } from '../../upkeep/repair-conversation.ts'
import { serverAccess } from '../target/server-access.ts'
import { copyExport } from './copy-export.ts'
import { type Follower, followWork } from './follow-work.ts'
import { type OperatorAsk, operatorRequest } from './operator-request.ts'
import type { UpkeepTarget } from './upkeep-target.ts'

/** The store of a running server, for whoever is one of its operators. */
export async function openRemoteUpkeep(url: string, tokenFile?: string): Promise<UpkeepTarget> {
  const access = await serverAccess(url, tokenFile)

  /** An answer that has no end is never taken for whole. */
  async function work<T>(ask: OperatorAsk, follower?: Follower): Promise<T> {
    const { chunks } = await operatorRequest(access, ask)
    const result = await followWork<T>(chunks, follower)
    if (result === null) throw ask.cutOff()
    return result
  }

  /** One that is no stream. */
  async function answer<T>(ask: OperatorAsk): Promise<T> {
    const { chunks } = await operatorRequest(access, { ...ask, expects: 'application/json' })
    let text = ''
    for await (const chunk of chunks) text += Buffer.from(chunk).toString('latin1')
    return JSON.parse(text) as T
  }

  return {
    place: access.address.href,
    async exportTo(write, { tenant, onProgress = () => {} }) {
      const ask: OperatorAsk = { method: 'GET', path: '/store/export', query: { tenant }, cutOff: cutOff.export }
      const { header, chunks } = await operatorRequest(access, ask)
      const total = Number(header('perdure-conversations') ?? Number.NaN)
      const exported = await copyExport(chunks, write, { total: Number.isNaN(total) ? null : total, onProgress })
      if (!exported) throw ask.cutOff()
      return exported
    },
    importFrom: (lines, { skipExisting = false, onProgress }) =>
      work(
        {
          method: 'POST',
          path: '/store/import',
          query: { skipExisting: String(skipExisting) },
          lines,
          cutOff: cutOff.import,
        },
        { onProgress },
      ),
    examine({ tenant, repair = false, onFinding, onRepair, onProgress }) {
      const ask: OperatorAsk = repair
        ? { method: 'POST', path: '/store/repair', json: { tenant }, cutOff: cutOff.repair }
        : { method: 'GET', path: '/store/examination', query: { tenant }, cutOff: cutOff.examination }
      return work(ask, {
        onProgress,
        onLine: (type, what) => (type === 'finding' ? onFinding?.(what as Finding) : onRepair?.(what as Repair)),
      })
    },
    async compareWith(lines, onDifference, { tenant }) {
      const ask: OperatorAsk = {
        method: 'POST',
        path: '/store/comparison',
        query: { tenant },
        lines,
        cutOff: cutOff.examination,
      }
      const follower: Follower = { onLine: (_, what) => onDifference(what as Difference) }
      return (await work<{ readonly differences: number }>(ask, follower)).differences
    },
    async unquarantine(json) {
      const ask = { method: 'POST', path: '/store/unquarantine', json, cutOff: cutOff.unquarantine } as const
      return (await answer<{ readonly unquarantined: boolean }>(ask)).unquarantined
    },
    migrate({ check }) {
      const asked = check ? ({ method: 'GET' } as const) : ({ method: 'POST', json: {} } as const)
      return answer<Migration>({ ...asked, path: '/store/migration', cutOff: cutOff.migration })
    },
    collectGarbage: (json) => work({ method: 'POST', path: '/store/garbage', json, cutOff: cutOff.garbage }),
    close: async () => {},
  }
}

const brokeOff =
  (problem: string, advice: string) =>
  (cause?: unknown): CutOffError =>
    new CutOffError(problem, advice, { cause })

/** What is known of each kind of work when nobody says any more how it ended. */
const cutOff = {
  export: brokeOff(
    'The server broke the export off, and what came of it is not whole',
    'Check that the server runs at this address (http or https), then run it again',
  ),
  import: brokeOff(
    'The server broke the import off; each conversation is there whole or not at all',
    'Check that the server runs at this address (http or https), then run it again with --skip-existing',
  ),
  examination: brokeOff(
    'The server broke the examination off before its end',
    'Check that the server runs at this address (http or https), then run it again',
  ),
  repair: brokeOff(
    'The server broke the repair off before its end; what was repaired stays so',
    'Check that the server runs at this address (http or https), then run it again',
  ),
  unquarantine: brokeOff(
    'The server broke off before it told whether the conversation was released',
    'Check that the server runs at this address (http or https), then run it again',
  ),
  migration: brokeOff(
    'The server broke off before it told of the schema',
    'Check that the server runs at this address (http or https), then run it again',
  ),
  garbage: brokeOff(
    'The server broke off before it told what was removed',
    'Check that the server runs at this address (http or https), then run it again',
  ),
}
