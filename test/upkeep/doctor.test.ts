import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { Store } from '../../src/store/store.ts'
import type { CollectRequest } from '../../src/store/upkeep.ts'
import { collectGarbage } from '../../src/upkeep/collect-garbage.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import type { Finding } from '../../src/upkeep/finding.ts'
import { overStores } from '../stories/over-stores.ts'
import { exported, importText } from './exported.ts'
import { livedInAgents, liveIn } from './lived-in-store.ts'

export async function findingsIn(store: Store): Promise<string[]> {
  const findings: Finding[] = []
  await examineStore(store, { onFinding: (found) => findings.push(found) })
  return findings.map(({ code, tenant, conversation, problem }) => `${code} ${tenant}/${conversation}: ${problem}`)
}

overStores('the doctor', (story) => {
  test('finds nothing in a store that was lived in, and names its content by the digest of its export', async () => {
    const store = story.openStore()
    await liveIn(store)
    expect(await findingsIn(store)).toEqual([])
    const { digest, conversations } = await examineStore(store)
    const text = await exported(store)
    const end = JSON.parse(text.trimEnd().split('\n').at(-1)!)
    expect({ digest, conversations }).toEqual({ digest: end.sha256, conversations: end.conversations })
    const copy = story.openStore()
    await importText(copy, text)
    expect(await examineStore(copy)).toMatchObject({ digest, conversations, faults: 0, notices: 0 })
  })

  test('waits for its callbacks, and stops when it is asked to', async () => {
    const store = story.openStore()
    for (const id of ['a', 'b', 'c']) await store.putConversation(id, { agent: 'echo' })
    for (const id of ['a', 'b', 'c']) await store.putFsmState(id, { state: 'running', pending: [], lastSeq: 9 })
    let told = 0
    const onFinding = async (): Promise<void> => {
      const before = told
      await new Promise((resolve) => setTimeout(resolve, 1))
      expect(told).toBe(before)
      told += 1
    }
    const { faults } = await examineStore(store, { onFinding })
    expect(told).toBe(faults)
    expect(faults).toBeGreaterThan(1)
    const asked = new AbortController()
    const stopped = examineStore(store, {
      repair: true,
      onFinding: () => asked.abort(new Error('enough')),
      signal: asked.signal,
    })
    await expect(stopped).rejects.toThrow('enough')
    expect((await examineStore(store)).faults).toBe(faults)
    await expect(collectGarbage(store, { signal: AbortSignal.abort(new Error('never')) })).rejects.toThrow('never')
    const late = new AbortController()
    const upkeep = {
      ...store.upkeep!,
      async collect(request: CollectRequest) {
        if (request.what === 'blobs') late.abort(new Error('no more'))
        return { rows: 0, bytes: 0 }
      },
      compact: () => Promise.reject(new Error('compacted')),
    }
    const collecting = collectGarbage({ upkeep }, { compact: true, signal: late.signal })
    await expect(collecting).rejects.toThrow('no more')
  })

  test('tells of work that there is no code for, where it is told what code there is', async () => {
    const store = story.openStore()
    const runtime = createRuntime({ agents: livedInAgents, store, work: false, logger: silentLogger })
    await runtime.conversation('due', { agent: 'echo' }).send('Hello')
    await runtime.close()
    const unknown = async (agents: string[]) => (await examineStore(store, { agents })).faults
    expect([await unknown(['echo']), await unknown(['support'])]).toEqual([0, 1])
    expect((await examineStore(store)).faults).toBe(0)
  })
})
