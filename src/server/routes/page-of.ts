import type { Page } from '../../store/store.ts'
import type { RouteCall } from '../route.ts'

/** A page of a list, as many as fit in an answer, and the id to go on from; null when there is no more. */
export async function pageOf<Item extends { readonly id: string }>(
  { query, server }: Pick<RouteCall, 'query' | 'server'>,
  defaultLimit: number,
  read: (page: Page) => Promise<readonly Item[]>,
): Promise<{ readonly items: readonly Item[]; readonly before: string | null }> {
  const { limit = defaultLimit, before } = query as { limit?: number; before?: string }
  const items = await read({
    limit,
    maxBytes: server.settings.limits.answerBytes,
    ...(before === undefined ? {} : { before }),
  })
  const last = items.at(-1)
  if (!last) return { items, before: null }
  // A short page may have been cut for its bytes.
  const hasMore = items.length === limit || (await read({ before: last.id, limit: 1, maxBytes: 1 })).length > 0
  return { items, before: hasMore ? last.id : null }
}
