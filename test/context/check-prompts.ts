import { isDeepStrictEqual } from 'node:util'
import { contextSettings } from '../../src/define/agent.ts'
import type { Retention } from '../../src/define/tool.ts'
import type { ModelRef } from '../../src/log/events.ts'
import { foldEvents } from '../../src/log/fold-events.ts'
import { type ConversationState, emptyState, stateSince } from '../../src/log/state.ts'
import { estimateTokens } from '../../src/prompt/budget/count-tokens.ts'
import { PromptSize, TurnSizes } from '../../src/prompt/budget/prompt-size.ts'
import { noReduction, type Reduction, reduce } from '../../src/prompt/budget/reduce.ts'
import { commonPrefix, type PromptTrace, traceOf } from '../../src/prompt/common-prefix.ts'
import { renderContext } from '../../src/prompt/render/render-context.ts'
import { EndedTurns } from '../../src/prompt/render/render-turn.ts'
import { type PromptProvider, validatePrompt } from '../../src/testing/validate-prompt.ts'
import type { SeededRandom } from '../faults/harness/seeded-random.ts'
import { checkShaped } from './check-shaped.ts'
import { addActed, withdrawnProblems } from './check-withdrawn.ts'
import { type GeneratedLog, noteText } from './log-generator.ts'
import { models } from './message-generator.ts'

export type Checked = {
  readonly prompts: number
  /** What was reduced on the way. */
  readonly reductions: ReadonlySet<'summary' | 'window' | 'stubs'>
  /** How many prompts a hook would have shaped so that they are sent, and so that they are refused. */
  readonly shaped: { readonly sent: number; readonly refused: number }
  readonly problems: readonly string[]
}

const retentions: Retention[] = [
  { mode: 'age', value: 1 },
  { mode: 'count', value: 1 },
  { mode: 'count', value: 0 },
]
const system = 'Be brief.'
const shapedShare = 0.1

/**
 * Renders every prefix of a log for every provider: whole, as reduced on the way, and with anything left out that a reduction can name.
 * Between reductions, each prompt that was sent must begin with the one before.
 */
export function checkPrompts(generated: GeneratedLog, random: SeededRandom): Checked {
  const { log, calls } = generated
  const problems: string[] = []
  const reductions = new Set<'summary' | 'window' | 'stubs'>()
  const budget = random.int(60, 250)
  const settings = contextSettings({ windowTurns: 4, retention: random.pick(retentions) })
  const sizes = new TurnSizes()
  const called = new Set(calls.flat())
  const endedOfAll = new EndedTurns()
  const endedByModel = new Map<ModelRef, EndedTurns>()
  for (const model of models) endedByModel.set(model, new EndedTurns())
  const shaped = { sent: 0, refused: 0 }
  const acted = new Set<string>()
  let prompts = 0
  let state = emptyState
  let reduction = noReduction
  let latest: Reduction['summary'] = null
  let sent: PromptTrace | null = null

  const check = (given: ConversationState, shown: Reduction, what: string): void => {
    for (const model of models) {
      const injections = random.chance(0.1) ? [{ type: 'text' as const, text: 'injected' }] : []
      const options = { system, model, reduction: shown, injections }
      const prompt = renderContext(given, options)
      prompts += 1
      if (given.notes && JSON.stringify(prompt).includes(noteText))
        problems.push(`seq ${given.lastSeq}, ${what}, ${model.provider}: a note is in the prompt`)
      const isOwn = random.chance(0.7)
      const remembered = renderContext(given, { ...options, ended: isOwn ? endedByModel.get(model)! : endedOfAll })
      if (!isDeepStrictEqual(remembered, prompt))
        problems.push(`seq ${given.lastSeq}, ${what}, ${model.provider}: another prompt where turns are remembered`)
      // What a provider does to its prompt must not be seen in the next one.
      spoil(remembered)
      const found = validatePrompt(prompt, providerOf(model))
      if (found.length > 0) problems.push(`seq ${given.lastSeq}, ${what}, ${model.provider}: ${found.join('; ')}`)
      if (!random.chance(shapedShare)) continue
      const outcome = checkShaped(prompt, model, random)
      shaped[outcome.type] += 1
      if (outcome.type === 'sent') problems.push(...outcome.problems.map((it) => `seq ${given.lastSeq}, shaped: ${it}`))
    }
  }

  check(state, noReduction, 'whole')
  for (const event of log) {
    state = foldEvents([event], state)
    addActed(acted, state)
    if (event.type === 'superseded') {
      // A process reads the log again, without the summaries that tell of withdrawn turns.
      reduction = noReduction
      if (latest && latest.toSeq >= event.content.fromSeq) latest = null
      sent = null
    }
    if (event.type === 'superseded' || state.turns.at(-1)?.replaced) {
      problems.push(...withdrawnProblems(acted, state).map((problem) => `seq ${event.seq}: ${problem}`))
    }
    check(state, noReduction, 'whole')
    const [model] = models
    const size = new PromptSize(estimateTokens, model!, 5, sizes)
    if (random.chance(0.1)) latest = someSummary(state, latest, random)
    const count = (candidate: Reduction): number => {
      const tokens = size.of(state, candidate)
      if (tokens !== new PromptSize(estimateTokens, model!, 5, new TurnSizes()).of(state, candidate))
        problems.push(`seq ${event.seq}: another size where turns are remembered`)
      return tokens
    }
    const limits = { budget, target: budget * 0.6 }
    const next = reduce({ state, reduction, latest, settings, tools: new Map(), limits, count })
    if (next !== reduction) sent = null
    if (next.summary) reductions.add('summary')
    if (next.windowFrom > 0) reductions.add('window')
    if (next.stubbed.size > 0) reductions.add('stubs')
    reduction = next
    check(stateSince(state, reduction.summary?.toSeq ?? 0), reduction, 'reduced')
    if (random.chance(0.3)) check(state, anyReduction(state, random), 'with anything left out')
    if (!called.has(event.seq)) continue
    const trace = traceOf(renderContext(state, { system, model: model!, reduction }))
    const brokenBy = sent && commonPrefix(sent, trace).brokenBy
    if (brokenBy) problems.push(`seq ${event.seq}: the prefix moved: ${brokenBy}`)
    sent = trace
  }
  return { prompts, reductions, shaped, problems }
}

/** As deep as there is something to change. */
function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null || value instanceof URL || ArrayBuffer.isView(value)) return
  for (const key of Object.keys(value) as (keyof typeof value)[]) {
    spoil(value[key])
    Reflect.deleteProperty(value, key)
  }
}

function providerOf({ provider }: ModelRef): PromptProvider {
  return provider.split('.')[0] as PromptProvider
}

function someSummary(
  state: ConversationState,
  latest: Reduction['summary'],
  random: SeededRandom,
): Reduction['summary'] {
  const ended = state.turns.flatMap((turn) => (turn.end && turn.end.seq > (latest?.toSeq ?? 0) ? [turn.end.seq] : []))
  if (ended.length === 0) return latest
  const text = random.pick(['they talked', '', 'half a pair \ud83d'])
  return { toSeq: random.pick(ended), version: (latest?.version ?? 0) + 1, text }
}

function anyReduction(state: ConversationState, random: SeededRandom): Reduction {
  const calls = state.turns.flatMap((turn) => turn.calls)
  return {
    summary: random.chance(0.5) ? { toSeq: random.int(0, state.lastSeq), version: 1, text: 'they talked' } : null,
    windowFrom: random.int(0, state.lastSeq + 1),
    stubbed: new Map(calls.filter(() => random.chance(0.5)).map((call) => [call.callId, 'old'])),
  }
}
