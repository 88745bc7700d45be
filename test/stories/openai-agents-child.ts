import { silentLogger } from '../../src/base/logger.ts'
import { perdureSession } from '../../src/openai-agents/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { childInput, dieWithParent, say } from '../faults/harness/child-channel.ts'

export type SessionMessage = { readonly type: 'begun' | 'done'; readonly n: number }

/** Writes operations of several notes each to a session, until it is killed. */
dieWithParent()
const { path } = childInput<{ readonly path: string }>()
const session = perdureSession(sqliteStore({ path, logger: silentLogger }), 's')
for (let n = 0; ; n++) {
  say<SessionMessage>({ type: 'begun', n })
  const content = `${n}${'x'.repeat(40_000)}`
  const items = [{ type: 'message' as const, role: 'user' as const, content }]
  await session.applyHistoryTransaction({ operationId: `op-${n}`, transaction: { type: 'append_items', items } })
  say<SessionMessage>({ type: 'done', n })
}
