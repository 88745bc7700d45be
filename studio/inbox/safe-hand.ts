/** How long an item must have been shown unchanged before a key or a click answers it. */
const lookMs = 700

/**
 * What the person at the page has had time to see. `version` names everything that an answer is about; `isChanged`: it became another one while it was shown, and
 * the person has not yet said to have seen that.
 */
export type Shown = {
  readonly place: string
  readonly version: string
  readonly since: number
  readonly isChanged: boolean
}

/** The item that is on screen now. `place` stays the same while the same call is shown. */
export function nowShown(before: Shown | null, place: string, version: string, at: number): Shown {
  if (before?.place !== place) return { place, version, since: at, isChanged: false }
  return before.version === version ? before : { place, version, since: at, isChanged: true }
}

/** The person has looked at the change. */
export function seen(shown: Shown, at: number): Shown {
  return shown.isChanged ? { ...shown, since: at, isChanged: false } : shown
}

/** Why an answer must not be sent now; null when it may. What was typed into a dialog that has just closed is not an answer, either. */
export function heldBack(
  shown: Shown | null,
  version: string,
  at: number,
  dialogClosedAt = Number.NEGATIVE_INFINITY,
): 'changed' | 'too soon' | 'after a dialog' | null {
  if (!shown || shown.version !== version || shown.isChanged) return 'changed'
  if (at - shown.since < lookMs) return 'too soon'
  return at - dialogClosedAt < lookMs ? 'after a dialog' : null
}
