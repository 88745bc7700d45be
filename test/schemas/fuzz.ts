import { parseArgs } from 'node:util'
import { fuzzSchemas } from './fuzz-schemas.ts'

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})

const report = await fuzzSchemas({ pairs: Number(values.pairs), seed: Number(values.seed), maxCpuMs: 100 })
console.log(JSON.stringify(report, null, 2))
if (report.failures.length > 0 || report.compared < report.pairs / 2) process.exitCode = 1
