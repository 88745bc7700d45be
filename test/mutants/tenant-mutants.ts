import type { Case, Mutant } from './mutant.ts'

const feed = (test: string): Case => ({ file: 'test/stories/live-tenant.test.ts', test })
const digest = (test: string): Case => ({ file: 'test/stories/humans-digest.test.ts', test })
const view = (test: string): Case => ({ file: 'test/stories/view-at.test.ts', test })
const memory = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })
const sqlite = (test: string): Case => ({ file: 'src/store/sqlite/sqlite-store.test.ts', test })

const refused = 'tells a caller nothing of what authorize refuses, nor of other tenants, also after a cursor of theirs'
const away = 'tells what changed while the client was away, on the same server and on another'

const bugs: readonly (readonly [name: string, file: string, find: string, replace: string, killedBy: Case])[] = [
  [
    'what authorize refuses is told',
    'src/runtime/authorize/authorized-verbs.ts',
    "return found === 'each' ? judged(record) : record.owner === found.owner",
    "return found === 'each' ? true : record.owner === found.owner",
    feed(refused),
  ],
  [
    'a list tells what a conversation takes to a caller who may not read it',
    'src/runtime/read/lists.ts',
    'return { ...listed, lastMessage: null, tokens: null }',
    'return { ...listed, lastMessage: null }',
    feed('has rows without content for a caller who may list a conversation and not read it, as lists have'),
  ],
  [
    'a caller who does not see everything is told what is gone',
    'src/server/live/tenant-stream.ts',
    'if (!(record ? await caller.allows(record) : await caller.seesAll())) continue',
    'if (record && !(await caller.allows(record))) continue',
    feed(refused),
  ],
  [
    'what changed while a client was away is missed on another server',
    'src/server/live/tenant-stream.ts',
    'Math.max(0, (after?.at ?? 0) - overlapMs)',
    'Math.max(0, (after?.at ?? 0) + overlapMs)',
    {
      file: 'src/server/live/tenant-stream.test.ts',
      test: 'a client that was on another server is told what the store says has changed, with a minute of overlap',
    },
  ],
  [
    'a client that comes back to its server begins at the end',
    'src/server/live/tenant-stream.ts',
    'if (isKept) index = after.index',
    'if (isKept) index = feed.lastIndex',
    feed(away),
  ],
  [
    'deleting tells no one',
    'src/store/tenant-store.ts',
    'if (isDeleted) hints.emit({ tenant, id, seq: 0 })',
    'if (!isDeleted) hints.emit({ tenant, id, seq: 0 })',
    memory('a deletion is a hint'),
  ],
  [
    'a watched conversation begins anew after a break',
    'src/server/routes/tenant.ts',
    'await server.feeds.subscribe(watched, cursor)',
    'await server.feeds.subscribe(watched, cursor && null)',
    feed('brings the events of watched conversations along, and continues with each after a break'),
  ],
  [
    'an answer to other arguments counts',
    'src/runtime/answer-call.ts',
    'expectArgs(callId, effectiveArgs(call), digest)',
    'expectArgs(callId, call.args, digest)',
    digest('the second round of a call has the digest of the arguments that were edited in the first'),
  ],
  [
    'an answer to another question of a session counts',
    'src/runtime/resume-session.ts',
    'expectArgs(flowCallId(id, seq), tagOf(opened.op), options.digest)',
    'void options.digest',
    digest('a question of a session has the digest of its tag'),
  ],
  [
    'the view of an earlier moment has the event after it',
    'src/runtime/read/read-view.ts',
    'pagesAfter(store, id, { after: state.lastSeq, before: at + 1 })',
    'pagesAfter(store, id, { after: state.lastSeq, before: at + 2 })',
    view('is what a fork at that event shows, with retried, cancelled and replaced turns, and folds on to the next'),
  ],
  [
    'a search in memory knows only small letters',
    'src/store/rows.ts',
    'const inId = lowerAscii(text)',
    'const inId = text',
    memory('a list can be narrowed to a text in title or id, in either case, and nothing in it is a pattern'),
  ],
  [
    'a row counts the calls of child agents',
    'src/store/sqlite/columns.ts',
    "AND calls.kind <> 'sub_agent') AS waiting",
    ') AS waiting',
    sqlite('a list counts the calls that wait for an answer, and not those of child agents'),
  ],
]

/** Bugs in what a tenant's clients are told, shown and asked. */
export const tenantMutants: readonly Mutant[] = bugs.map(([name, file, find, replace, killedBy]) => ({
  name: `tenant: ${name}`,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
