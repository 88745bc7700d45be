import { expect, test } from 'vitest'
import { generateLog } from '../../../test/context/log-generator.ts'
import { seededRandom } from '../../../test/faults/harness/seeded-random.ts'
import { InvalidArgumentError } from '../../base/errors/store-errors.ts'
import { encode } from '../../log/codec.ts'
import type { LogEvent } from '../../log/events.ts'
import { foldEvents } from '../../log/fold-events.ts'
import { type Explanation, explain } from '../../prompt/explain.ts'
import { eventPage } from '../../store/log-pages.ts'
import { fittingRows, rowBytes } from '../../store/rows.ts'
import type { TenantStore } from '../../store/store.ts'
import { type ExplanationPage, explainLog, explainPage, readExplainRange } from './explain-log.ts'

/** Reads a log that no store has judged. */
function storeOf(log: readonly LogEvent[]): TenantStore {
  const rows = log.map(({ seq, at, type, content }) => ({ seq, at, type, content: encode(content) }))
  const pageEvents: TenantStore['pageEvents'] = async (id, range) => {
    const { after = 0, before = Number.POSITIVE_INFINITY } = range
    const found = rows.filter(({ seq }) => seq > after && seq < before)
    return eventPage(id, fittingRows(found, range, rowBytes.event), range)
  }
  return { pageEvents } as TenantStore
}

test('a log is explained by pages as it is all at once', async () => {
  for (let seed = 1; seed <= 30; seed++) {
    const { log } = generateLog(seededRandom(seed))
    const seen = Math.floor(log.length * 0.8)
    const call = { evictions: { seen, evicted: [{ toSeq: Math.floor(seen / 3), shown: 'summarised', why: 'old' }] } }
    const expected = explain(log, call, foldEvents(log.filter((event) => event.seq <= seen)))
    expect(await explainLog(storeOf(log), 'c', call)).toEqual(expected)
    const paged: Explanation[] = []
    for (let after: number | null = 0; after !== null; ) {
      const page: ExplanationPage = await explainPage(storeOf(log), 'c', call, { after, limit: 7 })
      expect(page.explanations.length).toBeLessThanOrEqual(7)
      paged.push(...page.explanations)
      after = page.after
    }
    expect(paged).toEqual(expected)
  }
})

test.each([{ after: -1 }, { after: 0.5 }, { limit: 0 }, { limit: -1 }])('the range %j is refused', (range) => {
  expect(() => readExplainRange(range)).toThrow(InvalidArgumentError)
})
