import type { Driver, ReadConversation, StoredConversation } from '../driver.ts'
import { type ConversationFilter, mostTallied, type StatusCount } from '../records.ts'
import { forkParents, searchedText } from '../rows.ts'
import { conversationColumns, conversationNames, Page, secondary, waiting } from './columns.ts'
import type { Database, Statement } from './database.ts'

type Methods = 'getConversation' | 'listConversations' | 'deleteConversation' | 'deleteTenant'

export function conversations(database: Database): Pick<Driver, Methods> {
  const { schema } = database
  const get = {
    name: 'conversation',
    text: `SELECT ${conversationColumns}, idle_seq AS "idleSeq" FROM ${schema}.conversations c WHERE tenant = $1 AND id = $2`,
  }
  // A new conversation under a freed id waits for the deletion and must be later than the deleted one: only their times tell them apart.
  const passMoment = 'pg_sleep(0.001)'
  const remove = {
    name: 'delete_conversation',
    text: `SELECT ${schema}.delete_conversation($1, $2) AS count, ${passMoment}`,
    timeoutMs: 0,
  }
  const removeTenant = {
    name: 'delete_tenant',
    text: `WITH jobs AS (DELETE FROM ${schema}.bulk_jobs WHERE tenant = $1) SELECT ${schema}.delete_tenant($1) AS count, ${passMoment}`,
    timeoutMs: 0,
  }

  async function getConversation(tenant: string, id: string): Promise<ReadConversation | null> {
    return (await database.run<ReadConversation>(get, [tenant, id]))[0] ?? null
  }

  return {
    getConversation,
    async listConversations(tenant, filter) {
      const last = filter.before === undefined ? undefined : await getConversation(tenant, filter.before)
      if (last === null || (last && filter.owner !== undefined && last.owner !== filter.owner)) return null
      const { statement, values } = listing(schema, tenant, filter, last)
      return database.run<StoredConversation>(statement, values)
    },
    async deleteConversation(tenant, id) {
      const [row] = await database.run<{ count: number }>(remove, [tenant, id], 'reject')
      return row!.count
    },
    async deleteTenant(tenant) {
      const [row] = await database.run<{ count: number }>(removeTenant, [tenant], 'reject')
      return row!.count
    },
  }
}

/** One statement for each combination of conditions, so that its plan fits. */
function listing(
  schema: string,
  tenant: string,
  { kind, status, agent, owner, forkOf, text: given, ids, limit, maxBytes }: ConversationFilter & { limit: number },
  last: StoredConversation | undefined,
): { statement: Statement; values: unknown[] } {
  const values: unknown[] = [tenant]
  const conditions = [`tenant ${secondary} = $1`]
  // Postgres tells the names of statements apart by their first 63 bytes: a letter for each condition.
  let name = 'conversations_'
  const add = (letter: string, condition: (first: number) => string, ...added: unknown[]): void => {
    name += letter
    conditions.push(condition(values.length + 1))
    values.push(...added)
  }
  // As a literal: only then does Postgres know that the index of sessions has all of them.
  if (kind === 'flow') add('e', () => "kind = 'flow'")
  else if (kind !== undefined) add('k', (n) => `kind = $${n}`, kind)
  if (status !== undefined) add('s', (n) => `status = $${n}`, status)
  if (agent !== undefined) add('a', (n) => `agent = $${n}`, agent)
  if (owner !== undefined) add('o', (n) => `owner = $${n}`, owner)
  if (forkOf !== undefined) {
    const { from, to } = forkParents(forkOf)
    add('f', (n) => `parent COLLATE "C" >= $${n} AND parent COLLATE "C" < $${n + 1}`, from, to)
  }
  if (ids) add('i', (n) => `id = ANY ($${n}::text[])`, ids)
  if (given !== undefined) {
    const { inId, inTitle } = searchedText(given)
    // Under "C" only ASCII letters have cases.
    const found = (column: string, n: number) => `strpos(lower(${column} COLLATE "C"), $${n}::text) > 0`
    add('t', (n) => `(${found('id', n)} OR ${found('title', n + 1)})`, inId, inTitle)
  }
  if (last) add('b', (n) => `(created_at, id ${secondary}) < ($${n}::bigint, $${n + 1}::text)`, last.createdAt, last.id)
  const page = new Page({ limit, ...(maxBytes === undefined ? {} : { maxBytes }) }, values)
  const select = `SELECT ${conversationColumns}, ${waiting(schema)} FROM ${schema}.conversations c WHERE ${conditions.join(' AND ')}`
  const text = page.within(select, {
    columns: `${conversationNames}, waiting`,
    order: `created_at DESC, id ${secondary} DESC`,
    returnedOrder: `"createdAt" DESC, id ${secondary} DESC`,
    bytes: ['title', 'parent', '"fsmState"', 'settings'],
  })
  return { statement: { name: page.named(name), text }, values: page.values }
}

/** Reads the rows of the tenant: a commit writes its time to the row, and an index on it would cost every commit. */
export function changes(database: Database): Required<Pick<Driver, 'changedSince' | 'tally'>> {
  const { schema } = database
  const changed = {
    name: 'changed_since',
    text: `(SELECT id FROM ${schema}.conversations WHERE tenant ${secondary} = $1 AND updated_at >= $2 LIMIT $3)
      UNION (SELECT id FROM ${schema}.tombstones WHERE tenant = $1 AND at >= $2 LIMIT $3)`,
  }
  const counts = (owner: string) => `SELECT kind, status, count(*) AS count FROM (
      SELECT kind, status FROM ${schema}.conversations WHERE tenant ${secondary} = $1 ${owner}
      ORDER BY created_at DESC, id ${secondary} DESC LIMIT $2) AS newest GROUP BY kind, status`
  const waiting = (owner: string) => `SELECT count(*) AS count, min(created_at) AS "oldestAt" FROM (
      SELECT t.created_at FROM ${schema}.calls t JOIN ${schema}.conversations c ON c.tenant = t.tenant AND c.id = t.conversation_id
      WHERE t.tenant ${secondary} = $1 AND t.status = 'pending' AND t.kind <> 'sub_agent' ${owner}
      ORDER BY t.created_at LIMIT $2) AS oldest`
  return {
    async changedSince(tenant, since, limit) {
      const found = await database.run<{ id: string }>(changed, [tenant, since, limit + 1])
      return found.length > limit ? null : found.map(({ id }) => id)
    },
    async tally(tenant, owner) {
      const [named, only, ownCalls] = owner === null ? ['all', '', ''] : ['own', 'AND owner = $3', 'AND c.owner = $3']
      const values = [tenant, mostTallied + 1, ...(owner === null ? [] : [owner])]
      const found = await database.run<StatusCount>({ name: `tally_${named}`, text: counts(only) }, values)
      const calls = { name: `tally_calls_${named}`, text: waiting(ownCalls) }
      const [asked] = await database.run<{ count: number; oldestAt: number | null }>(calls, values)
      const total = found.reduce((sum, { count }) => sum + count, 0)
      const isPartial = total > mostTallied || asked!.count > mostTallied
      return { counts: found, waiting: asked!.count, oldestAt: asked!.oldestAt, isPartial }
    },
  }
}
