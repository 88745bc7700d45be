import { createRuntime, holdRuntime } from 'perdure'
import { sqliteStore } from 'perdure/sqlite'
import { support } from './support.ts'

/** The one runtime of this process, however often Next.js loads this file. */
export const runtime = holdRuntime(({ onClose }) => {
  const store = sqliteStore({ path: process.env.PERDURE_DB ?? 'chats.db' })
  onClose(() => store.close())
  return createRuntime({ agents: [support], store })
})
