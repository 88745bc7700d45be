import { apiUrl } from '../addresses.ts'
import { userHeaders } from '../sign-in/session.ts'

/** Where files come from: the server, unless an export is open in this page. */
let send: typeof fetch | null = null

/** Null: the server again. */
export function loadFilesWith(other: typeof fetch | null): void {
  send = other
}

/** The bytes of a file that a message of the conversation refers to. */
export async function loadFile(conversationId: string, blob: string): Promise<ArrayBuffer> {
  const url = `/conversations/${encodeURIComponent(conversationId)}/files/${blob}`
  const response = await (send ? send(new URL(url, location.origin)) : fetch(apiUrl + url, { headers: userHeaders() }))
  if (!response.ok) throw new Error(`The file cannot be loaded: the server answered ${response.status}.`)
  return response.arrayBuffer()
}
