import { createRuntime } from 'perdure'
import { sqliteStore } from 'perdure/sqlite'
import { channel, support } from '../../../lib/support.ts'

export const dynamic = 'force-dynamic'

// What one would write first. `next build` loads this file, and must run nothing.
const store = sqliteStore({ path: process.env.PERDURE_DB ?? 'chats.db' })
const runtime = createRuntime({ agents: [support], store, subscribers: [channel] })

export async function GET(): Promise<Response> {
  return Response.json(await runtime.readiness())
}
