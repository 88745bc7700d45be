import { useLatestKeys } from './use-latest-keys.ts'

export type InboxVerbs = {
  step(steps: number): void
  select(): void
  selectAll(): void
  leave(): void
  showNew(): void
  filter(): void
  focusDetail(): void
}

/** The keys of the list. Those of an answer belong to the item that is shown. */
export function useInboxKeys(verbs: InboxVerbs): void {
  useLatestKeys([
    { key: 'j', does: 'Next item', run: () => verbs.step(1) },
    { key: 'k', does: 'Item before', run: () => verbs.step(-1) },
    { key: 'ArrowDown', does: 'Next item', run: () => verbs.step(1) },
    { key: 'ArrowUp', does: 'Item before', run: () => verbs.step(-1) },
    { key: 'Enter', does: 'Go to the answer', run: () => verbs.focusDetail() },
    { key: 'e', does: 'Go to the answer', run: () => verbs.focusDetail() },
    { key: 'x', does: 'Select this item', run: () => verbs.select() },
    { key: '*', does: 'Select all items', run: () => verbs.selectAll() },
    { key: 'n', does: 'Show new items', run: () => verbs.showNew() },
    { key: 'f', does: 'Filter the list', run: () => verbs.filter() },
    { key: 'Escape', does: 'End the selection', run: () => verbs.leave() },
  ])
}
