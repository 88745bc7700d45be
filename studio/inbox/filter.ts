import type { InboxItem } from 'perdure/client'
import { headline } from './words.ts'

/** Which rows are shown; empty texts leave nothing out. All of it is in the address. */
export type InboxFilter = { readonly text: string; readonly agent: string; readonly tool: string }

export function isFiltering({ text, agent, tool }: InboxFilter): boolean {
  return text.trim() !== '' || agent !== '' || tool !== ''
}

export function filterIn(search: string): InboxFilter {
  const query = new URLSearchParams(search)
  return { text: query.get('text') ?? '', agent: query.get('agent') ?? '', tool: query.get('tool') ?? '' }
}

/** What follows the path in the address: nothing where nothing is left out. */
export function searchOf(filter: InboxFilter): string {
  const given = Object.entries(filter).filter(([, value]) => value !== '')
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

/** The agent of a call, the flow of a question. */
export function agentOf(item: InboxItem): string {
  return item.kind === 'flow' ? item.flow : (item.agent ?? '')
}

/** Every word of the text is somewhere in what a row shows or is about. */
export function matches(item: InboxItem, { text, agent, tool }: InboxFilter): boolean {
  if (agent !== '' && agentOf(item) !== agent) return false
  if (tool !== '' && item.tool !== tool) return false
  const words = text.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 10)
  if (words.length === 0) return true
  const { title, owner, conversationId, callId } = item
  const args = JSON.stringify(item.args).slice(0, 20_000)
  const searched = [headline(item), agentOf(item), item.tool, title ?? '', owner ?? '', conversationId, callId, args]
    .join('\n')
    .toLowerCase()
  return words.every((word) => searched.includes(word))
}

/** The values that a row can be filtered by, in order. */
export function distinct(items: readonly InboxItem[], of: (item: InboxItem) => string): string[] {
  return [...new Set(items.map(of).filter(Boolean))].sort()
}
