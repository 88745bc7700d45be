import type { ConversationRecord } from '../../store/records.ts'
import type { ChangesFor, TenantChanges } from '../read/tenant-changes.ts'
import { type Gate, type Listing, recheckMs } from './gate.ts'

/** How many verdicts a feed remembers. */
const mostVerdicts = 2_000

/** Whether a conversation may be read. `record` is the newest that is known: it is what is asked about. */
type Verdict = { record: ConversationRecord; readonly ask: () => Promise<boolean> }

/** What a caller may see of the changes of its tenant. Verdicts are asked for again after 30 seconds, as those of streams. */
export function allowedChanges(gate: Gate, changes: TenantChanges): ChangesFor {
  const listing = remembered(gate, () => gate.listing())
  const verdicts = new Map<string, Verdict>()

  async function judged(record: ConversationRecord): Promise<boolean> {
    const known = verdicts.get(record.id)
    verdicts.delete(record.id)
    // A verdict is about one conversation: under an id that was deleted, another user may have opened another.
    const isSame = known?.record.createdAt === record.createdAt && known.record.owner === record.owner
    const verdict = isSame ? known : newVerdict(record)
    verdict.record = record
    verdicts.set(record.id, verdict)
    if (verdicts.size > mostVerdicts) verdicts.delete(verdicts.keys().next().value!)
    return verdict.ask()
  }

  function newVerdict(first: ConversationRecord): Verdict {
    const verdict: Verdict = {
      record: first,
      ask: remembered(gate, () => gate.reads(verdict.record)),
    }
    return verdict
  }

  return {
    changes,
    seesAll: async () => (await listing()) === 'all',
    async allows(record) {
      const found: Listing = await listing()
      if (found === 'all' || found === 'none') return found === 'all'
      return found === 'each' ? judged(record) : record.owner === found.owner
    },
    reads: judged,
  }
}

/** Asks again when the answer is 30 seconds old, or asking failed. */
function remembered<T>({ clock }: Gate, ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | null = null
  let askedAt = 0
  return () => {
    if (answer && clock.now() - askedAt < recheckMs) return answer
    askedAt = clock.now()
    const asked = ask()
    answer = asked
    asked.catch(() => {
      if (answer === asked) answer = null
    })
    return asked
  }
}
