import type { Case, Mutant } from './mutant.ts'

const positions = (test: string): Case => ({ file: 'src/log/call-position.test.ts', test })
const announcer = (test: string): Case => ({ file: 'src/view/announcer.test.ts', test })
const watched = (test: string): Case => ({ file: 'test/server/watched-calls.test.ts', test })
const growing = (test: string): Case => ({ file: 'src/view/growing-view.test.ts', test })
const channel = (test: string): Case => ({ file: 'src/engine/live/channel.test.ts', test })

/** Bugs in what keeps a message with very many calls from costing their square. */
export const callsMutants: readonly Mutant[] = [
  {
    name: 'where a call was in one list is believed of every copy of it',
    edits: [
      {
        file: 'src/log/fold-call.ts',
        find: 'return calls[position]?.callId === callId ? position : findPosition(calls, callId)',
        replace: 'return position',
      },
    ],
    killedBy: [
      positions('for lists of any length, copies that go on in any way, and any searches, it is what a search finds'),
    ],
  },
  {
    name: 'a long list of calls never gets an index',
    edits: [
      {
        file: 'src/log/fold-call.ts',
        find: 'if (entry.index.searches <= searchesBeforeIndex)',
        replace: 'if (entry.index.searches > 0)',
      },
    ],
    killedBy: [positions('looking for every call of a long list looks at each only a few times')],
  },
  {
    name: 'a copy of a list of calls begins without what is known of it',
    edits: [{ file: 'src/log/fold-call.ts', find: 'if (entry) indexed.set(copy, { ...entry })', replace: '' }],
    killedBy: [positions('copies that go on from a list know where its calls are')],
  },
  {
    name: 'a call that changes is counted again, beside what it was',
    edits: [
      {
        file: 'src/view/live-events.ts',
        find: 'open: open + is.open - was.open, pending: pending + is.pending - was.pending',
        replace: 'open: open + is.open, pending: pending + is.pending - was.pending',
      },
    ],
    killedBy: [announcer('one announcer over many events announces the same as a new one for each event')],
  },
  {
    name: 'the calls of the open turn are not counted when another turn opens',
    edits: [
      {
        file: 'src/view/live-events.ts',
        find: 'if (turn?.firstSeq !== this.#openSeq) this.#tally',
        replace: 'if ((turn === null) !== (this.#openSeq === null)) this.#tally',
      },
    ],
    killedBy: [announcer('calls that a turn leaves open when it ends do not count for the next one')],
  },
  {
    name: 'all calls of the open turn are counted at every event',
    edits: [
      {
        file: 'src/view/live-events.ts',
        find: 'if (turn?.firstSeq !== this.#openSeq) this.#tally',
        replace: 'if (turn) this.#tally',
      },
    ],
    killedBy: [announcer('the calls of a turn are counted once, however many events are about them')],
  },
  {
    name: 'those who listen are told of each event of a commit by itself',
    edits: [
      {
        file: 'src/engine/live/channel.ts',
        find: 'if (this.#workingSet) this.#apply(this.#workingSet, events)',
        replace: 'if (this.#workingSet) for (const event of events) this.#apply(this.#workingSet, [event])',
      },
    ],
    killedBy: [channel('tells those who listen once of a commit, when its state has all of it')],
  },
  {
    name: 'what was read before an event that is not known is not told',
    edits: [
      {
        file: 'src/engine/live/channel.ts',
        find: 'if (told.length > 0) {',
        replace: 'if (told.length > 0 && !failure) {',
      },
    ],
    killedBy: [channel('tells what is before an event that it does not know, and then that it cannot go on')],
  },
  {
    name: 'what is live between two events of one reading is told after both',
    edits: [
      { file: 'src/engine/live/channel.ts', find: '      told.push(...this.#dueUpTo(event.seq))\n', replace: '' },
      {
        file: 'src/engine/live/channel.ts',
        find: 'if (told.length > 0) {',
        replace: 'told.push(...this.#dueUpTo(announcer.lastSeq))\n    if (told.length > 0) {',
      },
    ],
    killedBy: [channel('tells what was sent between two events of one reading between them')],
  },
  {
    name: 'a watcher that has taken everything is dropped when much comes at once',
    edits: [
      {
        file: 'src/runtime/read/watch.ts',
        find: 'const isBehind = this.#count > 0',
        replace: 'const isBehind = true',
      },
    ],
    killedBy: [
      {
        file: 'test/stories/humans-many-calls.test.ts',
        test: 'reaches a watcher that has taken all before it, though it is more than may wait for a slow one',
      },
    ],
  },
  {
    name: 'an answer reads the rows of all calls of its tenant',
    edits: [
      {
        file: 'src/store/postgres/commit-function.ts',
        find: 'LEFT JOIN LATERAL (SELECT * FROM ${schema}.calls WHERE tenant = x.tenant AND id = r.call LIMIT 1) t ON true',
        replace: 'LEFT JOIN ${schema}.calls t ON t.tenant = x.tenant AND t.id = r.call',
      },
    ],
    killedBy: [
      {
        file: 'src/store/postgres/batching.test.ts',
        test: 'answers read the rows of their own calls alone, also by a plan that was made while there were none',
      },
    ],
  },
  {
    name: 'each part of a stream is compared with all calls before it',
    edits: [
      {
        file: 'src/model/message-builder.ts',
        find: 'while (places.length > 0 && !isOpen(this.#items[places.at(-1)!]!)) places.pop()\n    return places.at(-1) ?? -1',
        replace: 'return places.findLast((place) => isOpen(this.#items[place]!)) ?? -1',
      },
    ],
    killedBy: [
      {
        file: 'src/model/message-builder-calls.test.ts',
        test: 'thousands of calls under one id are put together without going over all of them for each',
      },
    ],
  },
  {
    name: 'pages are told of every event of a commit by itself',
    edits: [
      {
        file: 'src/server/live/feed.ts',
        find: 'else this.#scheduledNotify ??= setImmediate(() => this.#notifyFollowers())',
        replace: 'else this.#notifyFollowers()',
      },
    ],
    killedBy: [watched('a page that shows very many calls costs a few views, and is told of all of them')],
  },
  {
    name: 'who waits for an outcome looks at every event of a commit',
    edits: [{ file: 'src/server/routes/turns.ts', find: 'looking ??= setImmediate(look)', replace: 'look()' }],
    killedBy: [watched('who waits for the outcome of a turn with very many calls costs a few views')],
  },
  {
    name: 'a client works its view out for every event of a piece',
    edits: [{ file: 'src/client/watch.ts', find: '(hasMore && !failure && !isTextDelta(event))', replace: 'failure' }],
    killedBy: [
      watched(
        'a client that shows a message with very many calls works its view out a few times, and shows all of them',
      ),
    ],
  },
  {
    name: 'a text stream works the view out for every event of a commit',
    edits: [
      {
        file: 'src/runtime/read/watch.ts',
        find: '(hasMore && !isTextDelta(event))',
        replace: 'hasMore === null',
      },
    ],
    killedBy: [watched('the text of a turn with very many calls costs a few views')],
  },
  {
    name: 'events that are taken at once leave what is live beside them as it was',
    edits: [
      {
        file: 'src/view/growing-view.ts',
        find: 'this.#live = withoutSettled(this.#live, event)',
        replace: 'this.#live = { ...withoutSettled(this.#live, event), drafts: this.#live.drafts }',
      },
    ],
    killedBy: [growing('its seq and its drafts are those of its view, before that was worked out')],
  },
  {
    name: 'a delta is judged by the log as it was before the events that came with it',
    edits: [
      { file: 'src/view/growing-view.ts', find: 'isSettled(this.log, event)', replace: 'isSettled(this.#log, event)' },
    ],
    killedBy: [growing('events that are taken at once show what they show one by one, however they are gathered')],
  },
  {
    name: 'progress of a call that ends in the same moment is not told',
    edits: [
      {
        file: 'src/server/live/feed.ts',
        find: 'if (this.#unsentProgress.has(callOf(event))) this.#notifyFollowers()',
        replace: '',
      },
    ],
    killedBy: [{ file: 'test/server/ui-chat.test.ts', test: 'progress of a tool is told while it runs' }],
  },
]
