import { type Change, diffWordsWithSpace } from 'diff'

/** Answers with less than this part of their words in common are shown one after the other. */
const leastCommon = 0.5
const timeoutMs = 300

/** What one answer says against another, word by word; where they have little in common, the whole of each: their words in turn could not be read. */
export function answerDiff(theirs: string, own: string): readonly Pick<Change, 'value' | 'added' | 'removed'>[] {
  const changes = diffWordsWithSpace(theirs, own, { timeout: timeoutMs })
  if (changes && commonPart(changes) >= leastCommon) return changes
  const whole = [
    { value: theirs, added: false, removed: true },
    { value: own, added: true, removed: false },
  ]
  return whole.filter(({ value }) => value !== '')
}

/** The part of the letters that both have. */
function commonPart(changes: readonly Change[]): number {
  let [common, all] = [0, 0]
  for (const { value, added, removed } of changes) {
    const letters = value.replaceAll(/\s+/g, '').length
    all += added || removed ? letters : letters * 2
    if (!added && !removed) common += letters * 2
  }
  return all === 0 ? 1 : common / all
}
