import type { Store } from '../../../src/store/store.ts'

export type NamedWrite = { readonly commit: string; readonly run: () => Promise<unknown> }

/** One call of every method that writes text, each with a name that is found in what it writes. */
export function everyWrite(store: Store, prefix: string): NamedWrite[] {
  const id = `${prefix}.methods`
  const writes: Record<string, (name: string) => Promise<unknown>> = {
    appendEvent: (name) =>
      store.appendEvent(id, {
        type: 'user_msg',
        content: { turnId: name, message: { parts: [] }, options: {}, who: 'writer' },
      }),
    commit: (name) => store.commit(id, { events: [{ type: 'titled', content: { title: name } }], key: name }),
    putSummary: (name) => store.putSummary(id, { fromSeq: 1, toSeq: 1, content: name, version: 1, base: null }),
    putConversation: (name) => store.putConversation(id, { settings: { name } }),
    putFsmState: (name) => store.putFsmState(id, { state: 'running', pending: [name], lastSeq: 2 }),
    upsertToolCall: (name) => store.upsertToolCall(id, { id: `${prefix}.call`, name }),
    resolveToolCall: (name) => store.resolveToolCall(`${prefix}.call`, 'resolved', name),
    putModelCall: (name) => store.putModelCall(id, { turnRef: name }),
    putSnapshot: (name) => store.putSnapshot(id, name),
    putBlob: (name) => store.putBlob(Buffer.from(name), 'text/plain'),
    acquireLease: (name) => store.acquireLease(id, name, 60_000),
    fork: (name) => store.fork(id, name),
  }
  return Object.entries(writes).map(([method, write]) => {
    const commit = `@${prefix}.${method}@`
    return { commit, run: () => write(commit) }
  })
}
