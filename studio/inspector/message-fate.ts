import type { Explanation } from 'perdure/client'

/** How later prompts showed one event. Calls in a row that showed it alike are one entry. */
export type Fate = Pick<Explanation, 'shown' | 'why'> & {
  readonly from: string
  readonly to: string
  readonly calls: number
}

/** What happened to an event in later prompts. `calls`: model calls in their order, each with the explanations of its prompt. */
export function messageFate(
  seq: number,
  calls: readonly { readonly turnRef: string; readonly explanations: readonly Explanation[] }[],
): Fate[] {
  const fates: Fate[] = []
  for (const { turnRef, explanations } of calls) {
    const found = explanations.find((explanation) => explanation.seq === seq)
    if (!found || found.why === 'it came after this call') continue
    const { shown, why } = found
    const last = fates.at(-1)
    if (last && last.shown === shown && last.why === why)
      fates[fates.length - 1] = { ...last, to: turnRef, calls: last.calls + 1 }
    else fates.push({ shown, why, from: turnRef, to: turnRef, calls: 1 })
  }
  return fates
}

/** For people. */
export const fateWords: Readonly<Record<Explanation['shown'], string>> = {
  verbatim: 'in full',
  stubbed: 'shortened to a stub',
  summarised: 'in the summary only',
  outside_window: 'left out',
  not_shown: 'not shown',
  shaped: 'up to a hook',
}
