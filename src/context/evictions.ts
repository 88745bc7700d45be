import type { Json } from '../log/json.ts'
import type { Reduction } from './reduction.ts'

/** Something that was in the log and not, or not as it was, in a prompt. Told as `explain` tells of events. */
export type Eviction = { readonly why: string } & (
  | { readonly shown: 'summarised'; readonly toSeq: number }
  | { readonly shown: 'outside_window'; readonly beforeSeq: number }
  | { readonly shown: 'stubbed'; readonly callId: string }
)

export function evictionsOf({ summary, windowFrom, stubbed }: Reduction): (Eviction & { [key: string]: Json })[] {
  const evictions: (Eviction & { [key: string]: Json })[] = []
  if (summary) {
    const why = `version ${summary.version} of the summary stands for the turns that ended by ${summary.toSeq}`
    evictions.push({ shown: 'summarised', toSeq: summary.toSeq, why })
  }
  if (windowFrom > 0) {
    const why = `the budget was full, and turns that began before ${windowFrom} were left out`
    evictions.push({ shown: 'outside_window', beforeSeq: windowFrom, why })
  }
  for (const [callId, why] of stubbed) evictions.push({ shown: 'stubbed', callId, why })
  return evictions
}
