import { expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import type { Finding } from '../../src/upkeep/finding.ts'
import { overStores } from '../stories/over-stores.ts'
import { exported, importText } from './exported.ts'
import { liveIn } from './lived-in-store.ts'

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
})
