import { mkdirSync, writeFileSync } from 'node:fs'
import type { ConversationState } from '../src/log/state.ts'
import { type AssembleInput, assemblePrompt } from '../src/prompt/assemble-prompt.ts'
import { gptTokenizer, type Tokenizer, uncalibrated } from '../src/prompt/budget/count-tokens.ts'
import { planSummary, TurnSizes } from '../src/prompt/budget/prompt-size.ts'
import { noReduction } from '../src/prompt/budget/reduce.ts'
import { commonPrefix, traceOf } from '../src/prompt/common-prefix.ts'
import { EndedTurns } from '../src/prompt/render/render-turn.ts'
import { busyAgent } from '../test/context/busy-agent.ts'
import { eventsOf } from '../test/context/tool-turns.ts'
import { stateOf } from '../test/log/story.ts'
import { median } from './measure.ts'

const model = { provider: 'anthropic.messages', modelId: 'claude-sonnet-4-5' }
const workingBudget = 30_000
const blocks = 20
const roundsPerBlock = 200

/**
 * The cost of preparing one model call: deciding what to leave out, and rendering, with 30,000 tokens in the working
 * set.
 */
export async function benchContext(args: readonly string[]): Promise<void> {
  const isQuick = args.includes('--quick')
  const rows = [
    measure('render, full', false, null, isQuick),
    measure('render, full, and trace for the audit', false, null, isQuick, true),
    measure('reduce and render', true, null, isQuick),
    measure('render, full, gpt-tokenizer', false, await gptTokenizer(), isQuick),
    measure('reduce and render, gpt-tokenizer', true, await gptTokenizer(), isQuick),
  ]
  console.log(`\nbefore a model call, ${workingBudget} tokens in the working set (ms)`)
  for (const { what, tokens, p50, p99, quietest } of rows) {
    const figures = [`p50 ${p50.toFixed(2)}`, `p99 ${p99.toFixed(2)}`, `p99 of the quietest ${quietest.toFixed(2)}`]
    console.log(`  ${what.padEnd(40)} ${String(tokens).padStart(6)} tokens   ${figures.join('   ')}`)
  }
  const ratios = Object.fromEntries(
    rows.map(({ what, quietest }) => [`context.${what}.p99_ms`, Math.round(quietest * 100) / 100]),
  )
  console.log(JSON.stringify({ ratios }))
  if (isQuick) return
  mkdirSync(new URL('results', import.meta.url), { recursive: true })
  writeFileSync(new URL('results/context.json', import.meta.url), `${JSON.stringify({ ratios }, null, 2)}\n`)
}

/** `quietest`: the p99 of the block of calls that other load disturbed least. */
type Row = Record<'tokens' | 'p50' | 'p99' | 'quietest', number> & { readonly what: string }

function measure(what: string, isOver: boolean, tokenizer: Tokenizer | null, isQuick: boolean, isTraced = false): Row {
  const context = { workingBudget, injectionReserve: 0, ...(tokenizer ? { tokenizer } : {}) }
  const agent = busyAgent({ context })
  const given = (state: ConversationState, memory: Pick<AssembleInput, 'turnSizes' | 'endedTurns'>): AssembleInput => ({
    ...{ state, agent, model, ...memory, latest: null },
    system: 'Be brief. '.repeat(50),
    injections: [],
    reduction: noReduction,
    calibration: uncalibrated,
  })
  const { state, tokens } = filled((candidate) => assemblePrompt(given(candidate, remembered())).estimated, isOver)
  const memory = remembered()
  assemblePrompt(given(state, memory))
  const before = isTraced ? traceOf(assemblePrompt(given(state, memory)).prompt(model, new Map())) : []
  const times: number[] = []
  for (let round = 0; round < (isQuick ? 3 : blocks) * roundsPerBlock; round++) {
    // The open turn has changed since the last call, as it does in practice.
    const [open, ...ended] = state.turns.toReversed()
    const now = { ...state, turns: [...ended.toReversed(), { ...open!, items: [...open!.items] }] }
    const start = performance.now()
    const assembly = assemblePrompt(given(now, memory))
    planSummary({ ...assembly.reduced, isSummarised: true })
    const prompt = assembly.prompt(model, new Map())
    if (isTraced) commonPrefix(before, traceOf(prompt))
    times.push(performance.now() - start)
    if (assembly.hasReduced !== isOver) throw new Error(`it was ${assembly.hasReduced ? '' : 'not '}reduced`)
  }
  const ofBlocks = Array.from({ length: times.length / roundsPerBlock }, (_, block) =>
    p99Of(times.slice(block * roundsPerBlock, (block + 1) * roundsPerBlock)),
  )
  return { what, tokens, p50: median(times), p99: p99Of(times), quietest: Math.min(...ofBlocks) }
}

function p99Of(times: readonly number[]): number {
  return times.toSorted((left, right) => left - right)[Math.floor(times.length * 0.99)]!
}

/** As many turns as fit, or some more. */
function filled(
  count: (state: ConversationState) => number,
  isOver: boolean,
): { state: ConversationState; tokens: number } {
  const stateOfLength = (length: number) =>
    stateOf(eventsOf(Array.from({ length }, (_, n) => ({ tokens: 150, isOpen: n === length - 1 }))))
  const [few, more] = [10, 20].map((length) => count(stateOfLength(length)))
  const fits = 10 + Math.floor(((workingBudget - few!) / (more! - few!)) * 10) - 1
  const state = stateOfLength(isOver ? fits + 5 : fits)
  return { state, tokens: isOver ? workingBudget : count(state) }
}

function remembered(): Pick<AssembleInput, 'turnSizes' | 'endedTurns'> {
  return { turnSizes: new TurnSizes(), endedTurns: new EndedTurns() }
}
