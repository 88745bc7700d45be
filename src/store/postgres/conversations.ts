import type { Driver, ReadConversation, StoredConversation } from '../driver.ts'
import type { ConversationFilter } from '../records.ts'
import { forkParents } from '../rows.ts'
import { conversationColumns, conversationNames, Page, secondary } from './columns.ts'
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
    text: `SELECT ${schema}.delete_tenant($1) AS count, ${passMoment}`,
    timeoutMs: 0,
  }

  async function getConversation(tenant: string, id: string): Promise<ReadConversation | null> {
    return (await database.run<ReadConversation>(get, [tenant, id]))[0] ?? null
  }

  return {
    getConversation,
    async listConversations(tenant, filter) {
      const last = filter.before === undefined ? undefined : await getConversation(tenant, filter.before)
      if (last === null) return null
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
  { kind, status, agent, forkOf, limit, maxBytes }: ConversationFilter & { limit: number },
  last: StoredConversation | undefined,
): { statement: Statement; values: unknown[] } {
  const values: unknown[] = [tenant]
  const conditions = [`tenant ${secondary} = $1`]
  const names = ['conversations']
  const add = (name: string, condition: (first: number) => string, ...added: unknown[]): void => {
    names.push(name)
    conditions.push(condition(values.length + 1))
    values.push(...added)
  }
  if (kind !== undefined) add('kind', (n) => `kind = $${n}`, kind)
  if (status !== undefined) add('status', (n) => `status = $${n}`, status)
  if (agent !== undefined) add('agent', (n) => `agent = $${n}`, agent)
  if (forkOf !== undefined) {
    const { from, to } = forkParents(forkOf)
    add('forks', (n) => `parent COLLATE "C" >= $${n} AND parent COLLATE "C" < $${n + 1}`, from, to)
  }
  if (last)
    add('before', (n) => `(created_at, id ${secondary}) < ($${n}::bigint, $${n + 1}::text)`, last.createdAt, last.id)
  const page = new Page({ limit, ...(maxBytes === undefined ? {} : { maxBytes }) }, values)
  const select = `SELECT ${conversationColumns} FROM ${schema}.conversations c WHERE ${conditions.join(' AND ')}`
  const text = page.within(select, {
    columns: conversationNames,
    order: `created_at DESC, id ${secondary} DESC`,
    returnedOrder: `"createdAt" DESC, id ${secondary} DESC`,
    bytes: ['title', 'parent', '"fsmState"', 'settings'],
  })
  return { statement: { name: page.named(names.join('_')), text }, values: page.values }
}
