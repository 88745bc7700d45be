import { stateSince } from '../log/state.ts'
import { conversationKey } from '../store/conversation-key.ts'
import type { Summary } from '../store/summary.ts'
import type { Origin, WorkingSet } from '../store/working-sets.ts'
import { type Calibration, uncalibrated } from './budget/calibration.ts'
import { TurnSizes } from './budget/prompt-size.ts'
import type { PromptTrace } from './common-prefix.ts'
import { EndedTurns } from './render/ended-turns.ts'
import { noReduction, type Reduction, type SummaryText } from './render/reduction.ts'

/**
 * What this process remembers of the prompts of one conversation. Nothing of it is needed: another node begins without it, and only the
 * provider's cache is colder for it.
 */
export type ContextMemory = {
  /** Of the working set it goes with. */
  origin: Origin | null
  reduction: Reduction
  calibration: Calibration
  /** The newest this process knows of; it is shown when the next reduction comes. */
  latestSummary: SummaryText | null
  /** Of the call before, for telling what broke the common prefix. */
  lastPrompt: PromptTrace | null
  isSummarising: boolean
  /** Before the log has got so far, no summary is asked for again: the last time none came of it. */
  summariseAtSeq: number
  /** A title is being generated. */
  isTitling: boolean
  turnSizes: TurnSizes
  endedTurns: EndedTurns
}

/**
 * Brings memory and working set together. A memory of another log, or of one that was loaded anew, begins again with what stands for the
 * turns that are not there; turns that a summary now stands for are let go.
 */
export function remember(memory: ContextMemory, workingSet: WorkingSet): WorkingSet {
  if (memory.origin !== workingSet.origin) {
    const summary = summaryText(workingSet.origin.summary)
    Object.assign(memory, beginning(), { origin: workingSet.origin, latestSummary: summary })
    memory.reduction = { ...noReduction, summary }
  }
  const { summary } = memory.reduction
  if (!summary || summary.toSeq <= (workingSet.origin.summary?.toSeq ?? 0)) return workingSet
  const { toSeq, version, text } = summary
  memory.origin = { summary: { toSeq, version, content: text } }
  const state = { ...stateSince(workingSet.state, toSeq), hasOlder: true }
  return { ...workingSet, state, origin: memory.origin }
}

export function summaryText(summary: Pick<Summary, 'toSeq' | 'version' | 'content'> | null): SummaryText | null {
  if (!summary) return null
  const { toSeq, version, content } = summary
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  return { toSeq, version, text: content === null ? '' : text }
}

/** The memories of the conversations used last. */
export class ContextMemories {
  readonly #kept = new Map<string, ContextMemory>()
  readonly #limit: number

  constructor(limit = 200) {
    this.#limit = limit
  }

  of(tenant: string, id: string): ContextMemory {
    const key = conversationKey(tenant, id)
    const memory = this.#kept.get(key) ?? { ...beginning(), isSummarising: false, isTitling: false }
    this.#kept.delete(key)
    this.#kept.set(key, memory)
    if (this.#kept.size > this.#limit) this.#kept.delete(this.#kept.keys().next().value!)
    return memory
  }
}

function beginning(): Omit<ContextMemory, 'isSummarising' | 'isTitling'> {
  return {
    origin: null,
    reduction: noReduction,
    calibration: uncalibrated,
    latestSummary: null,
    summariseAtSeq: 0,
    lastPrompt: null,
    turnSizes: new TurnSizes(),
    endedTurns: new EndedTurns(),
  }
}
