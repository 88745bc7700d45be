import type { Case, Mutant } from './mutant.ts'

const postgres = (test: string): Case => ({ file: 'src/store/postgres/postgres-store.test.ts', test })
const sqlite = (test: string): Case => ({ file: 'src/store/sqlite/sqlite-store.test.ts', test })
const memory = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })
const tables = (test: string): Case => ({ file: 'src/store/postgres/limit-tables.test.ts', test })
const paused = (test: string): Case => ({ file: 'test/stories/pauses.test.ts', test })
const search = (test: string): Case => ({ file: 'src/engine/lease/work-search.test.ts', test })
const node = (test: string): Case => ({ file: 'test/stories/nodes.test.ts', test })

export const fleetMutants: readonly Mutant[] = [
  {
    name: 'a node that may work again hands over when its drain would have ended',
    edits: [
      {
        file: 'src/engine/lease/node-heartbeat.ts',
        find: "    this.#state = 'off'\n    this.#callOff()",
        replace: "    this.#state = 'off'",
      },
    ],
    killedBy: [
      {
        file: 'src/engine/lease/node-heartbeat.test.ts',
        test: 'a node that may work again before its time is over hands over nothing',
      },
    ],
  },
  {
    name: 'a heartbeat goes on over a store that is closed',
    edits: [
      {
        file: 'src/engine/lease/node-heartbeat.ts',
        find: 'if (isClosed) this.#isStopped = true',
        replace: 'if (isClosed) void this.#isStopped',
      },
    ],
    killedBy: [
      {
        file: 'src/engine/lease/node-heartbeat.test.ts',
        test: 'a heartbeat goes on when the store fails, and ends without a word when the store is closed',
      },
    ],
  },
  {
    name: 'steering: a commit of a paused agent takes a lease (sqlite)',
    edits: [
      {
        file: 'src/store/sqlite/commit-change.ts',
        find: 'isPaused ? { ...change, acquires: null } : change',
        replace: 'change',
      },
    ],
    killedBy: [sqlite('the first message of a new conversation of a paused agent gets no lease')],
  },
  {
    name: 'steering: a claim takes what is paused (memory)',
    edits: [
      {
        file: 'src/store/memory/memory-store.ts',
        find: "      if (isPaused(tenant, id, row.columns.agent)) return { type: 'held' }\n",
        replace: '',
      },
    ],
    killedBy: [memory('no process takes what is paused: an agent, in every tenant')],
  },
  {
    name: 'steering: a deleted conversation stays paused (postgres)',
    edits: [
      {
        file: 'src/store/postgres/delete-functions.ts',
        find: "WHERE p.kind = 'conversation' AND p.tenant = p_tenant AND p.name = ANY (p_ids);",
        replace: 'WHERE false;',
      },
    ],
    killedBy: [postgres('a conversation that is deleted is paused no longer, and one that does not exist cannot be')],
  },
  {
    name: 'steering: a queued turn of a paused conversation begins',
    edits: [
      {
        file: 'src/engine/turn/drive.ts',
        find: 'if (isAnswered && isPaused) await owner.close()\n  return isAnswered && !isPaused',
        replace: 'return isAnswered',
      },
    ],
    killedBy: [paused('a turn that runs goes on to its end, and the next in its queue waits')],
  },
  {
    name: 'steering: a message to a busy paused conversation is refused',
    edits: [
      {
        file: 'src/runtime/send-message.ts',
        find: 'given === undefined && (await isPaused())',
        replace: 'false',
      },
    ],
    killedBy: [paused('what is paused takes messages and works on none until it is resumed: agent')],
  },
  {
    name: 'steering: a node that drains goes on to take work',
    edits: [
      {
        file: 'src/engine/lease/node-heartbeat.ts',
        find: "return this.#state !== 'off'",
        replace: "return this.#state === 'handing_over' && false",
      },
    ],
    killedBy: [search('while it drains, it takes nothing, though there is time left for what it holds')],
  },
  {
    name: 'steering: a node that drains hands nothing over',
    edits: [
      {
        file: 'src/engine/lease/node-heartbeat.ts',
        find: '      for (const { owner } of this.#held()) void owner?.close()\n',
        replace: '',
      },
    ],
    killedBy: [node('takes no more work, hands over what it holds in time, and works again when it is told to')],
  },
  {
    name: 'steering: a node that drains is named for work',
    edits: [
      {
        file: 'src/engine/lease/worker.ts',
        find: '    this.#search.setTaker(drainMs === null)\n',
        replace: '',
      },
    ],
    killedBy: [search('while it drains, others do not name this process')],
  },
  {
    name: 'steering: the search stops at the same tenant each time (sqlite)',
    edits: [
      {
        file: 'src/store/sqlite/find-due.ts',
        find: 'stoppedAt: last?.steps === mostSteps ? last.tenant : null',
        replace: 'stoppedAt: null',
      },
    ],
    killedBy: [sqlite('a tenant is served behind any number of others whose wake-ups are later')],
  },
  {
    name: 'steering: the rows of a paused tenant are read (postgres)',
    edits: [
      {
        file: 'src/store/postgres/limit-tables.ts',
        find: "CASE WHEN ${isTenantPaused(schema, 'w.tenant')} THEN NULL ELSE (",
        replace: "CASE WHEN false AND ${isTenantPaused(schema, 'w.tenant')} THEN NULL ELSE (",
      },
    ],
    killedBy: [tables('a search reads a bounded part of a long queue, under limits and of a paused tenant or agent')],
  },
  {
    name: 'limits: the search reads the whole queue for what passes (postgres)',
    edits: [
      {
        file: 'src/store/postgres/limit-tables.ts',
        find: 'AND ${passes} AND c.epoch IS NULL AND c.agent',
        replace: 'AND ${passes} AND c.holder IS NULL AND c.agent',
      },
      {
        file: 'src/store/postgres/limit-tables.ts',
        find: 'conversations ((wake_at - 0))',
        replace: 'conversations (wake_at)',
      },
    ],
    killedBy: [tables('a search reads a bounded part of a long queue, under limits and of a paused tenant or agent')],
  },
  {
    name: 'limits: tenants past the walk are not found (postgres)',
    edits: [
      {
        file: 'src/store/postgres/limit-tables.ts',
        find: 'IF v_has_stopped AND',
        replace: 'IF false AND',
      },
    ],
    killedBy: [
      tables('behind more tenants than one search goes over, others are found, also where each has a limit of its own'),
    ],
  },
]
