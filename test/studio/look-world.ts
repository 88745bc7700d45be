import { DatabaseSync } from 'node:sqlite'
import type { Runtime } from 'perdure'
import { fillShowcase } from '../../src/cli/demo/fill-showcase.ts'
import { returnFlow } from '../../src/cli/demo/open-demo.ts'
import { showcase } from '../../src/cli/demo/showcase.ts'
import { type StudioServer, startServer } from './studio-server.ts'

const shown = showcase('support')

/** The agents and flows of the demo's examples. */
export const world = { agents: shown.agents, flows: [returnFlow(0)] }

/** Something of everything, so that no page is empty. */
export async function fillWorld(runtime: Runtime): Promise<void> {
  await fillShowcase(runtime, shown, { user: 'ann' })
}

/** A server over the demo's data as if it had come in over the last hour. */
export async function filledServer(storeFile: string): Promise<StudioServer> {
  const first = await startServer(world, { storeFile })
  await fillWorld(first.runtime)
  await first.close()
  spreadOverAnHour(storeFile)
  return startServer(world, { storeFile })
}

const minuteMs = 60_000

/** How many minutes ago each conversation of the showcase ended, so that charts and ages are those of a shop at work. All others: just now. */
const minutesAgo: Readonly<Record<string, number>> = {
  ...{
    hello: 56,
    'ticket-47': 49,
    'ticket-48': 44,
    'ticket-48-fork': 41,
    'ticket-49': 36,
    'ticket-50': 31,
    'ticket-51': 26,
  },
  ...{
    'return-2': 23,
    'ticket-52': 19,
    'ticket-46': 14,
    'ticket-43': 12,
    'return-1': 9,
    'ticket-45': 6,
    'ticket-44': 4,
    'ticket-42': 3,
  },
}

/** Moves what `fillWorld` has made back in time. The file must not be open. The long conversation is spread over its fifty minutes. */
function spreadOverAnHour(storeFile: string): void {
  const db = new DatabaseSync(storeFile)
  const rows = db.prepare('SELECT cid, id, child_of AS parent FROM conversations').all() as {
    readonly cid: number
    readonly id: string
    readonly parent: string | null
  }[]
  for (const { cid, id, parent } of rows) {
    const by = (minutesAgo[id] ?? minutesAgo[parent ?? ''] ?? 0) * minuteMs
    const last = db.prepare('SELECT max(seq) AS seq, max(id) AS id FROM events WHERE cid = ?').get(cid) as {
      seq: number
    }
    const calls = db.prepare('SELECT min(id) AS first, max(id) AS last FROM model_calls WHERE cid = ?').get(cid) as {
      first: number | null
      last: number | null
    }
    const spread = id === 'garden' ? 50 * minuteMs : 0
    db.prepare('UPDATE events SET at = at - ? - CAST(? * (1.0 - 1.0 * seq / ?) AS INTEGER) WHERE cid = ?').run(
      by,
      spread,
      last.seq,
      cid,
    )
    db.prepare(
      'UPDATE model_calls SET at = at - ? - CAST(? * (1.0 - 1.0 * (id - ?) / ?) AS INTEGER) WHERE cid = ?',
    ).run(...([by, spread, calls.first ?? 0, Math.max(1, (calls.last ?? 0) - (calls.first ?? 0)), cid] as const))
    db.prepare(
      'UPDATE calls SET created_at = created_at - ?, resolved_at = resolved_at - ?, expires_at = expires_at - ? WHERE cid = ?',
    ).run(by, by, by, cid)
    db.prepare(
      'UPDATE conversations SET created_at = created_at - ? - ?, updated_at = updated_at - ? WHERE cid = ?',
    ).run(by, spread, by, cid)
  }
  db.close()
}
