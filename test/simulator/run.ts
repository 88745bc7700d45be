import { parseArgs } from 'node:util'
import { campaign } from './campaign.ts'

/**
 * `node test/simulator/run.ts [--seed N] [--runs N] [--full]`: crashes, takeovers and meddling in simulated processes over one memory store.
 * One JSON line; `--full` tries every pair of passings instead of every pair of failpoints.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '2000' },
    full: { type: 'boolean', default: false },
  },
})
const seed = Number(values.seed)
const begun = performance.now()
const tally = await campaign({ seed, runs: Number(values.runs), isFull: values.full })
const { missingPairs, neverHit, ...summary } = tally.summary()
const { violations } = tally
const ok = violations.length === 0 && missingPairs.length === 0 && neverHit.length === 0
const seconds = Math.round((performance.now() - begun) / 100) / 10
const shown = { violations: violations.length, shown: violations.slice(0, 20), missingPairs, neverHit }
process.stdout.write(`${JSON.stringify({ program: 'simulator', seed, ok, ...summary, ...shown, seconds })}\n`)
// Processes that died in the simulation hold timers for ever.
process.exit(ok ? 0 : 1)
