import type { Case, Mutant } from './mutant.ts'

const story = (test: string): Case => ({ file: 'test/stories/bulk.test.ts', test })
const sqlite = (test: string): Case => ({ file: 'src/store/sqlite/sqlite-store.test.ts', test })
const postgres = (test: string): Case => ({ file: 'src/store/postgres/postgres-store.test.ts', test })
const killed = (test: string): Case => ({ file: 'test/faults/bulk.test.ts', test })

const runner = 'src/runtime/bulk/job-runner.ts'
const later = 'leave alone what came after the start: conversations, and turns of conversations that were there'

export const bulkMutants: readonly Mutant[] = [
  {
    name: 'bulk jobs: cancel turns that began later',
    edits: [{ file: runner, find: 'turn)).at <= job.createdAt', replace: 'turn)).at <= Number.MAX_SAFE_INTEGER' }],
    killedBy: [story(later)],
  },
  {
    name: 'bulk jobs: a process that dies leaves the turn of what is quarantined open',
    edits: [{ file: runner, find: 'if (all.length > 0) await', replace: 'if (all.length < 0) await' }],
    killedBy: [story('end the turn of what is quarantined, also where a process died once it had asked for that')],
  },
  {
    name: 'bulk jobs: look at conversations that were created later',
    edits: [{ file: runner, find: 'filter, at: createdAt, after', replace: 'filter, at: null, after' }],
    killedBy: [killed('cancels each once, and nothing that came later')],
  },
  {
    name: 'bulk jobs: what a process did before it died counts as skipped',
    edits: [{ file: runner, find: '(await isKnown(store, id, `job/${job.id}`)) ? done : outcome', replace: 'outcome' }],
    killedBy: [killed('cancels each once, and nothing that came later')],
  },
  {
    name: 'bulk jobs: retry past an effect without being told to',
    edits: [{ file: runner, find: '{ key, force })', replace: '{ key, force: force || true })' }],
    killedBy: [story('never retry past a tool that may have had an effect, unless they are told to')],
  },
  {
    name: 'bulk jobs: a retry acts for the operator',
    edits: [
      {
        file: runner,
        find: 'const identity = { tenant, who, scope',
        replace: 'const identity = { tenant, who: job.who, scope',
      },
    ],
    killedBy: [story('retry turns for the users whose turns they were, never for the operator or the system')],
  },
  {
    name: 'bulk jobs: retry turns that were completed',
    edits: [{ file: runner, find: "filter.ended ?? ['failed']", replace: "filter.ended ?? ['failed', 'completed']" }],
    killedBy: [story('retry turns that failed, and no others unless they are asked to')],
  },
  {
    name: 'bulk jobs: retry turns that began later',
    edits: [{ file: runner, find: 'opening.at > job.createdAt', replace: 'opening.at > Number.MAX_SAFE_INTEGER' }],
    killedBy: [story('never retry a turn that began after the start')],
  },
  {
    name: 'bulk jobs: release what was quarantined later',
    edits: [{ file: runner, find: 'quarantine.at > job.createdAt', replace: 'quarantine.at < 0' }],
    killedBy: [story('never release what was quarantined after the start')],
  },
  {
    name: 'bulk jobs: act on child agents past the conversations that they work for',
    edits: [{ file: 'src/runtime/bulk/bulk-request.ts', find: ': { isRoot: true })', replace: ': {})' }],
    killedBy: [story('leave child agents to the conversations that they work for')],
  },
  {
    name: 'bulk jobs: go on after a stop',
    edits: [{ file: runner, find: "return told === 'ok'", replace: "return told !== 'lost'" }],
    killedBy: [story('stop after the conversations under way, and stay stopped')],
  },
  {
    name: 'bulk jobs: a lapsed token still records progress (sqlite)',
    edits: [
      {
        file: 'src/store/sqlite/jobs.ts',
        find: 'WHERE id = ? AND token = ? RETURNING',
        replace: 'WHERE id = ? AND ? >= 0 RETURNING',
      },
    ],
    killedBy: [sqlite('one process has a job, the oldest first, until it gives it back')],
  },
  {
    name: 'bulk jobs: a job that is held is claimed again (postgres)',
    edits: [
      {
        file: 'src/store/postgres/jobs.ts',
        find: 'AND (lease_until IS NULL OR lease_until <= ${nowMs})',
        replace: 'AND (lease_until IS NULL OR lease_until <= ${nowMs} + 600000)',
      },
    ],
    killedBy: [postgres('one process has a job, the oldest first, until it gives it back')],
  },
]
