import fc from 'fast-check'

/** Valid, and as unpleasant as valid ids may be. In UTF-16 the order of the fourth and fifth is the other way round than in bytes. */
export const conversationIds = [
  'c',
  'C',
  "it's; DROP TABLE events; --",
  '\u{1f98a} \u{10ffff}',
  '\ufffd',
  '__proto__',
  'é'.repeat(127),
  'e\u0301 %_ ',
]
export const forkIds = ['fork', 'fork ', '🍴', 'c']
export const tenants = ['default', `o'brien"; -- 🏢`]
export const agents = ['support', '__proto__', 'agent "x"', '🤖']
export const owners = ['ann', 'Ann', "o'brien; --", '🙂']
const holders = ['worker-1', "worker'2", 'worker-1 ']
export const keys = ['k', 'K', '🔑', "k'; --"]
export const digests = ['one', 'two', undefined]
/** Rows that no event tells of. */
const rowIds = ['row-1', 'row-2', "row'3", 'ROW-1', '🧾']

/** A few much more often than the others: what happens to one conversation matters more than how many there are. */
export const tenant = fc.constantFrom(tenants[0]!, tenants[0]!, tenants[0]!, tenants[1]!)
export const conversationId = fc.oneof(
  { weight: 5, arbitrary: fc.constant(conversationIds[0]!) },
  { weight: 3, arbitrary: fc.constantFrom(...conversationIds.slice(1, 3)) },
  { weight: 1, arbitrary: fc.constantFrom(...conversationIds) },
  { weight: 1, arbitrary: fc.constantFrom(...forkIds) },
)
export const agent = fc.constantFrom(...agents)
export const owner = fc.constantFrom(...owners)
export const holder = fc.constantFrom(...holders)
export const rowId = fc.constantFrom(...rowIds)
/** An index into something that is only known when the command runs. */
export const pick = fc.nat({ max: 1000 })

export function picked<T>(items: readonly T[], index: number): T | undefined {
  return items[index % Math.max(1, items.length)]
}
