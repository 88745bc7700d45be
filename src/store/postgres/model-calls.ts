import type { Driver, StoredModelCall } from '../driver.ts'
import type { Database } from './database.ts'
import { Page } from './page.ts'
import { nowMs } from './sql-names.ts'

/** The audit of what the model was given. */
export function modelCalls(database: Database): Pick<Driver, 'putModelCall' | 'modelCalls' | 'gcModelCalls'> {
  const { schema } = database
  const put = {
    name: 'put_model_call',
    text: `INSERT INTO ${schema}.model_calls (tenant, conversation_id, turn_ref, rendered_context, model, usage, latency_ms,
        status, summary_version, evictions, at)
      SELECT tenant, id, $3, $4, $5, $6, $7::bigint, $8, $9::bigint, $10, coalesce($11::bigint, ${nowMs})
      FROM ${schema}.conversations WHERE tenant = $1 AND id = $2 FOR UPDATE
      RETURNING 1`,
  }
  const listed = (
    context: string,
  ): string => `SELECT turn_ref AS "turnRef", ${context} AS "renderedContext", model, usage,
      latency_ms AS "latencyMs", status, summary_version AS "summaryVersion", evictions, at, number
    FROM ${schema}.model_calls WHERE tenant = $1 AND conversation_id = $2`
  const collect = {
    name: 'gc_model_calls',
    text: `DELETE FROM ${schema}.model_calls
      WHERE tenant = $1 AND conversation_id = $2 AND at < ${nowMs} - $3::bigint RETURNING 1`,
  }
  return {
    async putModelCall(tenant, id, call) {
      const { turnRef, renderedContext, model, usage, latencyMs, status, summaryVersion, evictions, at } = call
      const columns = [turnRef, renderedContext, model, usage, latencyMs, status, summaryVersion, evictions, at]
      return (await database.run(put, [tenant, id, ...columns], 'reject')).length > 0
    },
    async modelCalls(tenant, id, { turnRef, from, skip = 0, contexts = true, ...bounds }) {
      const page = new Page(bounds, [tenant, id, skip, ...[turnRef, from].filter((ref) => ref !== undefined)])
      const conditions = [
        ...(turnRef === undefined ? [] : ['AND turn_ref = $4']),
        ...(from === undefined ? [] : [`AND turn_ref >= $${turnRef === undefined ? 4 : 5}`]),
      ]
      const select = `${listed(contexts ? 'rendered_context' : 'NULL::text')} ${conditions.join(' ')}`
      const text = page.within(`SELECT * FROM (${select} ORDER BY turn_ref, number OFFSET $3) AS calls`, {
        columns: '"turnRef", "renderedContext", model, usage, "latencyMs", status, "summaryVersion", evictions, at',
        order: '"turnRef", number',
        bytes: ['status', 'model', 'usage', 'evictions', '"renderedContext"'],
      })
      const forms = [
        contexts ? '' : '_without_contexts',
        turnRef === undefined ? '' : '_of',
        from === undefined ? '' : '_from',
      ]
      const rows = await database.run<StoredModelCall & { at: number; number?: number }>(
        { name: page.named(`model_calls${forms.join('')}`), text },
        page.values,
      )
      return rows.map(({ number: _, ...call }) => call)
    },
    async gcModelCalls(tenant, id, ttlMs) {
      return (await database.run(collect, [tenant, id, ttlMs], 'reject')).length
    },
  }
}
