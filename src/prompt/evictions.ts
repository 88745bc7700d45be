import type { Json } from '../base/json.ts'
import type { Reduction } from './render/reduction.ts'

/** Something that was in the log and not, or not as it was, in a prompt. Told as `explain` tells of events. */
export type Eviction = { readonly why: string } & (
  | { readonly shown: 'summarised' | 'outside_window'; readonly toSeq: number }
  | { readonly shown: 'outside_window'; readonly beforeSeq: number }
  | { readonly shown: 'stubbed'; readonly callId: string }
)

export function evictionsOf({ summary, windowFrom, stubbed }: Reduction): (Eviction & { [key: string]: Json })[] {
  const evictions: (Eviction & { [key: string]: Json })[] = []
  if (summary) {
    const { toSeq, version, text } = summary
    // Where nobody sums up, what was left out is put away under a summary that says nothing.
    if (text === '') {
      const why = `the turns that ended by ${toSeq} were left out, and nothing stands for them`
      evictions.push({ shown: 'outside_window', toSeq, why })
    } else {
      const why = `version ${version} of the summary stands for the turns that ended by ${toSeq}`
      evictions.push({ shown: 'summarised', toSeq, why })
    }
  }
  if (windowFrom > 0) {
    const why = `the budget was full, and turns that began before ${windowFrom} were left out`
    evictions.push({ shown: 'outside_window', beforeSeq: windowFrom, why })
  }
  for (const [callId, why] of stubbed) evictions.push({ shown: 'stubbed', callId, why })
  return evictions
}
