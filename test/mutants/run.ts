import { parseArgs } from 'node:util'
import { runRandom } from './random/run-random.ts'
import { runPlanted } from './run-planted.ts'

/** `npm run mutants [-- --only 'part of a name|of another']`, `npm run mutants -- --random 200 --seed 7` */
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    jobs: { type: 'string', default: '2' },
    random: { type: 'string' },
    seed: { type: 'string' },
    budget: { type: 'string', default: '300' },
    keep: { type: 'boolean', default: false },
    'as-recorded': { type: 'boolean', default: false },
  },
})
const jobs = Number(values.jobs)
if (values.random === undefined) await runPlanted(values.only, jobs)
else
  await runRandom({
    count: Number(values.random),
    seed: Number(values.seed ?? Date.now() % 100_000),
    jobs,
    budgetSeconds: Number(values.budget),
    keeps: values.keep,
    records: !values['as-recorded'],
  })
