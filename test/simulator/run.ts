import { parseArgs } from 'node:util'
import { campaign } from './campaign.ts'

/**
 * `node test/simulator/run.ts [--seed N] [--runs N] [--full [--pairs N]]`: crashes, takeovers, meddling and stores that fail for long, in simulated processes over
 * one memory store. One JSON line; `--full` tries 150 pairs of passings of each scenario, or as many as told, beside one for every pair of failpoints.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '500' },
    full: { type: 'boolean', default: false },
    pairs: { type: 'string', default: '150' },
  },
})
const seed = Number(values.seed)
const begun = performance.now()
const tally = await campaign({
  seed,
  runs: Number(values.runs),
  ...(values.full ? { pairs: Number(values.pairs) } : {}),
})
const { missingPairs, neverHit, neverDone, ...summary } = tally.summary()
const { violations } = tally
const lacking = [...missingPairs, ...neverHit, ...neverDone]
const ok = violations.length === 0 && lacking.length === 0
const seconds = Math.round((performance.now() - begun) / 100) / 10
const shown = { violations: violations.length, shown: violations.slice(0, 20), lacking }
process.stdout.write(`${JSON.stringify({ program: 'simulator', seed, ok, ...summary, ...shown, seconds })}\n`)
// Processes that died in the simulation hold timers for ever.
process.exit(ok ? 0 : 1)
