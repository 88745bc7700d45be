/** Where the studio is mounted, without the slash at its end. The server writes it into `<base href>`. */
export const studioPath = new URL(document.baseURI).pathname.replace(/\/$/, '')

/** The address of the API: the studio is mounted beside its routes. */
export const apiUrl = new URL('..', document.baseURI).href.replace(/\/$/, '')

/**
 * What `/open?from=export.jsonl` loads: `perdure studio file.jsonl` serves its file there and prints that address. A page must follow no other value
 * of `from`.
 */
export const servedExport = { from: 'export.jsonl', url: new URL('export.jsonl', document.baseURI).href }

const part = encodeURIComponent

/** The addresses of the pages, below `studioPath`. Every state that a person could want to send to another is in them. */
export const addresses = {
  inbox: (callId?: string) => (callId === undefined ? '/inbox' : `/inbox/${part(callId)}`),
  conversations: (filter = '') => `/conversations${filter && `?${filter}`}`,
  conversation: (id: string, query: { readonly tab?: Tab; readonly at?: number; readonly event?: number } = {}) => {
    const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
    return `/conversations/${part(id)}${search.size > 0 ? `?${search}` : ''}`
  },
  flows: () => '/flows',
  session: (flow: string, id: string) => `/flows/${part(flow)}/${part(id)}`,
  health: () => '/health',
  open: () => '/open',
}

/** The tabs beside a conversation. */
export type Tab = 'timeline' | 'log' | 'state' | 'calls' | 'forks'

/** What a part of an address names. */
export function named(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
