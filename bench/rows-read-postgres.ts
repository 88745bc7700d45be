import pg from 'pg'
import { sessionSettings } from '../src/store/postgres/connection.ts'
import type { RowsRead } from './revival.ts'

type Sent = { readonly text: string; readonly values: unknown[] }

/**
 * Runs the statements again under EXPLAIN ANALYZE and adds up the rows that their scans visited, including discarded
 * ones.
 */
export function rowsReadPostgres(connectionString: string): RowsRead {
  return async (work) => {
    const sent: Sent[] = []
    const { query } = pg.Client.prototype
    pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
      const [first] = args as [Partial<Sent> | string]
      if (typeof first === 'object' && first.text) sent.push({ text: first.text, values: first.values ?? [] })
      return (query as (...args: unknown[]) => unknown).apply(this, args)
    } as typeof query
    try {
      await work()
    } finally {
      pg.Client.prototype.query = query
    }
    return explain(connectionString, sent)
  }
}

async function explain(connectionString: string, sent: readonly Sent[]): Promise<number> {
  const client = new pg.Client(connectionString)
  await client.connect()
  try {
    await client.query(sessionSettings)
    let rows = 0
    for (const { text, values } of sent) {
      const explained = await client.query({ text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values })
      rows += rowsOf(explained.rows[0]['QUERY PLAN'][0].Plan as Plan)
    }
    return rows
  } finally {
    await client.end()
  }
}

type Plan = {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Relation Name'?: string
  readonly Plans?: readonly Plan[]
}

function rowsOf(plan: Plan): number {
  const isTable = plan['Relation Name'] !== undefined && plan['Node Type'].includes('Scan')
  const own = isTable ? (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'] : 0
  return own + (plan.Plans ?? []).reduce((sum, inner) => sum + rowsOf(inner), 0)
}
