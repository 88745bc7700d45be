import type { FlowSession } from '../../src/runtime/flow-session.ts'
import { none, options, type Table } from './started-runtime.ts'

export const sessionVerbs: Table<FlowSession> = {
  start: ({ session }) => [
    (hostile) => session().start(hostile),
    (hostile) => session().start({ inner: [hostile] }),
    (hostile) => session().start(1, hostile),
    (hostile) => session().start(1, { key: hostile }),
    (hostile) => session().start(1, { signal: hostile }),
  ],
  resume: ({ suspended }) => [
    async (hostile) => (await suspended()).resume(hostile),
    async (hostile) => (await suspended()).resume({ inner: [hostile] }),
    async (hostile) => (await suspended()).resume(1, hostile),
    async (hostile) => (await suspended()).resume(1, { key: hostile }),
    async (hostile) => (await suspended()).resume(1, { tag: hostile }),
    async (hostile) => (await suspended()).resume(1, { seq: hostile }),
    async (hostile) => (await suspended()).resume(1, { signal: hostile }),
  ],
  outcome: ({ suspended }) => [
    async (hostile) => (await suspended()).outcome(hostile),
    async (hostile) => (await suspended()).outcome({ signal: hostile }),
  ],
  status: none,
  pending: none,
  suspensions: none,
  wakeAt: none,
  watch: ({ suspended }) => [
    async (hostile) => (await suspended()).watch(hostile).next(),
    async (hostile) => (await suspended()).watch({ after: hostile }).next(),
    async (hostile) => (await suspended()).watch({ signal: hostile }).next(),
  ],
  result: none,
  record: ({ suspended }) => options(async (page) => (await suspended()).record(page), 'after', 'maxBytes'),
  events: ({ session }) => options((range) => session().events(range), 'after', 'limit', 'maxBytes'),
  fork: ({ suspended }) => [
    async (hostile) => (await suspended()).fork(hostile),
    async (hostile) => (await suspended()).fork('f', hostile),
    async (hostile) => (await suspended()).fork('f', { at: hostile }),
    async (hostile) => (await suspended()).fork('f', { run: hostile }),
  ],
  forks: ({ session }) => [(hostile) => session().forks(hostile), (hostile) => session().forks({ before: hostile })],
  lineage: ({ session }) => [
    (hostile) => session().lineage(hostile),
    (hostile) => session().lineage({ limit: hostile }),
  ],
  continue: ({ suspended }) => [
    async (hostile) => (await suspended()).continue(hostile),
    async (hostile) => (await suspended()).continue({ signal: hostile }),
  ],
  delete: none,
}
