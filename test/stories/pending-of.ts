import type { PendingItem } from '../../src/view/view.ts'

type Waiting<Item> = { readonly status: 'waiting'; readonly pending: readonly Item[] }
type Outcome<Item> = Waiting<Item> | { readonly status: Exclude<string, 'waiting'> }

/** What a turn waits for. Fails when it does not wait. */
export async function pendingOf<Item = PendingItem>(turn: { outcome(): Promise<Outcome<Item>> }): Promise<Item[]> {
  const outcome = await turn.outcome()
  if (!isWaiting(outcome)) throw new Error(`expected the turn to wait, but it is ${JSON.stringify(outcome)}`)
  return [...outcome.pending]
}

/** The one thing a turn waits for. */
export async function onlyPendingOf<Item = PendingItem>(turn: { outcome(): Promise<Outcome<Item>> }): Promise<Item> {
  const pending = await pendingOf(turn)
  if (pending.length !== 1) throw new Error(`expected one pending call, not ${pending.length}`)
  return pending[0]!
}

function isWaiting<Item>(outcome: Outcome<Item>): outcome is Waiting<Item> {
  return outcome.status === 'waiting'
}
