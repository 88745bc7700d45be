import type { Case, Mutant } from './mutant.ts'

const story = (test: string): Case => ({ file: 'test/stories/preflight.test.ts', test })
const check = (test: string): Case => ({ file: 'src/runtime/preflight/check-conversation.test.ts', test })

const conversation = 'src/runtime/preflight/check-conversation.ts'
const pages = 'src/runtime/preflight/preflight.ts'

export const preflightMutants: readonly Mutant[] = [
  {
    name: 'preflight: arguments are those of the model, not those that a person put in their place',
    edits: [{ file: conversation, find: 'effectiveArgs(call)', replace: 'call.args' }],
    killedBy: [check('arguments are those that a person edited, where one has')],
  },
  {
    name: 'preflight: arguments are compared as far as a trimmed state has them',
    edits: [{ file: conversation, find: 'await wholeCall(store, id, folded)', replace: 'folded' }],
    killedBy: [check('arguments of any length are read whole')],
  },
  {
    name: 'preflight: a turn that is being cancelled is told of',
    edits: [{ file: conversation, find: '!turn || turn.cancel', replace: '!turn' }],
    killedBy: [check('a turn that is being cancelled needs no tools')],
  },
  {
    name: 'preflight: a schema is waited for without end',
    edits: [
      {
        file: conversation,
        find: 'await withTimeout(work, hookTimeoutMs, clock, () => `it was not checked within ${hookTimeoutMs} ms`)',
        replace: 'await (clock ? work : withTimeout(work, hookTimeoutMs, clock, () => null))',
      },
    ],
    killedBy: [check('a schema that never answers is given up, and told of')],
  },
  {
    name: 'preflight: runs migrateState without being asked to',
    edits: [{ file: conversation, find: 'if (!migrates) {', replace: 'if (migrates && !definition.migrate) {' }],
    killedBy: [story('tells of a state that does not match, and runs migrateState only where it is asked to')],
  },
  {
    name: 'preflight: leaves sessions out',
    edits: [
      {
        file: pages,
        find: "const isSession = kind === 'flow'",
        replace: "const isSession = kind === 'flow' && agent === null",
      },
    ],
    killedBy: [story('tells of an agent and a flow without code')],
  },
  {
    name: 'preflight: a page begins where the one before it began',
    edits: [{ file: pages, find: 'before = records.at(-1)?.id ?? before', replace: 'before = before ?? null' }],
    killedBy: [story('goes over all tenants by pages, and over one where that is asked for')],
  },
  {
    name: 'preflight: forgets tenants',
    edits: [
      {
        file: pages,
        find: 'Buffer.compare(Buffer.from(tenant), least) >= 0',
        replace: 'tenant === (from?.tenant ?? tenant)',
      },
    ],
    killedBy: [story('goes over all tenants by pages, and over one where that is asked for')],
  },
]
