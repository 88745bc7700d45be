import type { Case, Mutant } from './mutant.ts'

const memory = 'src/store/memory/memory-store.test.ts'
const sqlite = 'src/store/sqlite/sqlite-store.test.ts'
const postgres = 'src/store/postgres/postgres-store.test.ts'
const wholeEvents = 'maxBytes keeps as many whole events as fit, from either end of the range, and at least one'
const readsAll = 'a page says where it begins and ends, and reading on until it says so reads all, once'
const inMemory = (test: string): Case => ({ file: memory, test })
const bounded = (test: string): Case => ({ file: 'test/stories/bounded-reads.test.ts', test })
const trimming = (test: string): Case => ({ file: 'src/log/trim-state.test.ts', test })
const answers = (test: string): Case => ({ file: 'test/server/answer-bytes.test.ts', test })
const room = (test: string): Case => ({ file: 'src/server/byte-budget.test.ts', test })

/** Bugs in what bounds answers in bytes. */
export const bytesMutants: readonly Mutant[] = [
  {
    name: 'a page of bytes has one row more than fits',
    edits: [
      {
        file: 'src/store/rows.ts',
        find: 'if (fitting.length > 0 && bytes > maxBytes) break\n    fitting.push(row)',
        replace: 'fitting.push(row)\n    if (bytes > maxBytes) break',
      },
    ],
    killedBy: [inMemory(wholeEvents), { file: sqlite, test: wholeEvents }],
  },
  {
    name: 'a row that does not fit makes an empty page',
    edits: [
      {
        file: 'src/store/rows.ts',
        find: 'if (fitting.length > 0 && bytes > maxBytes) break',
        replace: 'if (bytes > maxBytes) break',
      },
    ],
    killedBy: [inMemory(wholeEvents)],
  },
  {
    name: 'bytes are counted as characters',
    edits: [
      {
        file: 'src/store/rows.ts',
        find: 'bytes += Buffer.byteLength(text)',
        replace: 'bytes += text.length',
      },
    ],
    killedBy: [inMemory('bytes are those of the JSON in UTF-8')],
  },
  {
    name: 'memory: the oldest of a log are asked for, and the newest are given',
    edits: [
      {
        file: 'src/store/memory/memory-store.ts',
        find: "if (keep === 'oldest') return fittingRows(typed, bounds, rowBytes.event)\n",
        replace: '',
      },
    ],
    killedBy: [inMemory(wholeEvents)],
  },
  {
    name: 'sqlite: a bound in bytes is not looked at',
    edits: [
      {
        file: 'src/store/sqlite/database.ts',
        find: 'if (maxBytes === undefined) return',
        replace: 'if (sql) return',
      },
    ],
    killedBy: [{ file: sqlite, test: wholeEvents }],
  },
  {
    name: 'postgres: a row that does not fit makes an empty page',
    edits: [
      {
        file: 'src/store/postgres/columns.ts',
        find: 'WHERE place = 1 OR total <=',
        replace: 'WHERE total <=',
      },
    ],
    killedBy: [{ file: postgres, test: wholeEvents }],
  },
  {
    name: 'a page that was cut by its bytes counts as the last',
    edits: [
      {
        file: 'src/store/log-pages.ts',
        find: 'return rows.length === limit || (maxBytes !== undefined && mayBeCut(rows, maxBytes))',
        replace: 'return rows.length === limit && maxBytes !== 0',
      },
    ],
    killedBy: [inMemory(readsAll)],
  },
  {
    name: 'a page is taken for the last although a large event may follow',
    edits: [
      {
        file: 'src/store/log-pages.ts',
        find: 'return units * 3 + maxStoredEventBytes > maxBytes',
        replace: 'return units > maxBytes',
      },
    ],
    killedBy: [inMemory(readsAll)],
  },
  {
    name: 'an import takes an event that is larger than any may be',
    edits: [
      {
        file: 'src/upkeep/import-rows.ts',
        find: 'if (Buffer.byteLength(content) > maxStoredEventBytes)',
        replace: 'if (Buffer.byteLength(content) > 8 * maxStoredEventBytes)',
      },
    ],
    killedBy: [
      {
        file: 'src/upkeep/import-store.test.ts',
        test: 'refuses an event that is larger than one may be, and names the line',
      },
    ],
  },
  {
    name: 'what is left out of a call is taken for all of it',
    edits: [
      {
        file: 'src/runtime/answer-call.ts',
        find: 'const call = await wholeCall(store, id, found.call)',
        replace: 'const { call } = found',
      },
    ],
    killedBy: [bounded('is answered on all of what was asked, whatever was shown of it')],
  },
  {
    name: 'the owner of a turn works with the trimmed view of the conversation',
    edits: [
      {
        file: 'src/store/working-sets.ts',
        find: 'const whole = cached && !cached.state.isTrimmed ? cached : null',
        replace: 'const whole = cached',
      },
    ],
    killedBy: [bounded('goes on with its agent, though what is kept of it is not all')],
  },
  {
    name: 'a page of history that begins with a withheld message shows it',
    edits: [
      {
        file: 'src/runtime/read/read-history.ts',
        find: "seq >= first || (seq === first - 1 && type === 'withheld')",
        replace: "seq >= first || (seq === 0 && type === 'withheld')",
      },
    ],
    killedBy: [bounded('does not show what a hook has withheld, wherever a page begins')],
  },
  {
    name: 'a long turn is cut in the middle of what came of a message',
    edits: [
      {
        file: 'src/runtime/read/read-history.ts',
        find: 'if (!isMessage(event) || !mayBegin(event, index)) continue',
        replace: '',
      },
    ],
    killedBy: [
      bounded('shows the beginnings of a single message that does not fit, and says which events have the rest'),
    ],
  },
  {
    name: 'a trimmed state forgets what its first steps used',
    edits: [
      {
        file: 'src/log/trim-state.ts',
        find: 'usage: usageOf({ items, calls: gone, ...before }),',
        replace: 'usage: before.leftOut?.usage ?? {},',
      },
    ],
    killedBy: [trimming('loses the first steps of a long turn, and remembers what they used and how many they were')],
  },
  {
    name: 'a trimmed state loses calls that are open',
    edits: [
      {
        file: 'src/log/trim-state.ts',
        find: "if (!this.#isTooHeavy || ofItem.some((call) => callPhase(call).type !== 'ended')) break",
        replace: 'if (!this.#isTooHeavy) break',
      },
    ],
    killedBy: [trimming('keeps the calls of its first steps that have not ended, with the messages they belong to')],
  },
  {
    name: 'a state is never trimmed while a log is read',
    edits: [
      {
        file: 'src/log/trim-state.ts',
        find: '    if (weight <= Math.max(most, 2 * left)) continue\n',
        replace: '    if (weight >= 0) continue\n',
      },
    ],
    killedBy: [trimming('holds little, however long the log is')],
  },
  {
    name: 'a trimmed state may grow again by as much with every page',
    edits: [
      {
        file: 'src/log/trim-state.ts',
        find: 'let left = leftByTrim.get(base) ?? 0',
        replace: 'let left = base.isTrimmed ? weight : 0',
      },
    ],
    killedBy: [trimming('holds little, also when it continues page by page')],
  },
  {
    name: 'a state that cannot be trimmed is trimmed again with every event',
    edits: [
      {
        file: 'src/log/trim-state.ts',
        find: 'let left = leftByTrim.get(base) ?? 0',
        replace: 'let left = weight * 0',
      },
    ],
    killedBy: [trimming('does not try again with every event where nothing more can be left out')],
  },
  {
    name: 'a call that was denied at length reads as approved',
    edits: [
      {
        file: 'src/log/abridge.ts',
        find: 'entries.sort(([one], [other]) => rank(one) - rank(other))',
        replace: 'entries.splice(0)',
      },
    ],
    killedBy: [{ file: 'src/log/abridge.test.ts', test: 'what says how a call ended is kept, wherever it stands' }],
  },
  {
    name: 'the beginning of a text keeps all of it in memory',
    edits: [{ file: 'src/log/abridge.ts', find: '? copyOf(`${kept}…`) : part', replace: '? `${kept}…` : part' }],
    killedBy: [{ file: 'src/log/abridge.test.ts', test: 'it does not keep the whole in memory' }],
  },
  {
    name: 'events are sent without a limit in bytes',
    edits: [
      {
        file: 'src/server/routes/pages.ts',
        find: 'this.#isFull = this.#kept.length === this.#limit || (this.#kept.length > 0 && isTooMuch)',
        replace: 'this.#isFull = this.#kept.length === this.#limit && (this.#kept.length > 0 || isTooMuch)',
      },
    ],
    killedBy: [answers('no answer is larger than the limit, and following its cursors reads everything once')],
  },
  {
    name: 'a page of events that was cut does not say so',
    edits: [
      {
        file: 'src/server/routes/pages.ts',
        find: 'const last = this.#isFull ? (this.#kept.at(-1)?.seq ?? null) : null',
        replace: 'const last = this.#kept.length === this.#limit ? (this.#kept.at(-1)?.seq ?? null) : null',
      },
    ],
    killedBy: [answers('no answer is larger than the limit, and following its cursors reads everything once')],
  },
  {
    name: 'a view is sent however large it is',
    edits: [
      {
        file: 'src/server/answer.ts',
        find: 'if (body.byteLength > answerBytes && maxBytes > minBytes) continue',
        replace: '',
      },
      {
        file: 'src/server/routes/conversations.ts',
        find: 'conversation.view({ ...call.query, maxBytes: maxBytes / 4 })',
        replace: 'conversation.view({ ...call.query, maxBytes: maxBytes * 4 })',
      },
    ],
    killedBy: [answers('a view fits in an answer, and says where the rest is')],
  },
  {
    name: 'a live stream begins with all of a conversation',
    edits: [
      {
        file: 'src/server/live/frame.ts',
        find: 'if (frame.byteLength <= maxFrameBytes || maxBytes < minBytes) return frame',
        replace: "return frameOf({ type: 'snapshot', view }, cursor) ?? frame",
      },
    ],
    killedBy: [answers('a live stream begins with a snapshot that fits, and catches up event by event')],
  },
  {
    name: 'a list that was cut for its bytes ends there',
    edits: [
      {
        file: 'src/server/answer.ts',
        find: 'items.length === limit || (await read({ before: place, limit: 1, maxBytes: 1 })).length > 0',
        replace: 'items.length === limit',
      },
    ],
    killedBy: [answers('lists go on where a page was cut for its bytes')],
  },
  {
    name: 'a client that takes nothing keeps its room',
    edits: [
      {
        file: 'src/server/byte-budget.ts',
        find: '.sort((one, other) => one.movedAt - other.movedAt)[0]?.cutOff()',
        replace: '.sort((one, other) => one.movedAt - other.movedAt)',
      },
    ],
    killedBy: [room('a stalled client is cut off for those that wait; one that makes progress is not')],
  },
  {
    name: 'the room of an answer is free before its client has it',
    edits: [
      {
        file: 'src/server/byte-budget.ts',
        find: '    this.#bytes = bytes\n    this.#movedAt = performance.now()',
        replace: '    this.#bytes = 0\n    this.#movedAt = performance.now()',
      },
    ],
    killedBy: [room('a request waits until a response was received, in the order of arrival')],
  },
  {
    name: 'the kept working sets are counted, and not weighed',
    edits: [
      {
        file: 'src/base/lru.ts',
        find: ' || this.#bytes > this.#maxBytes)',
        replace: ')',
      },
    ],
    killedBy: [{ file: 'src/base/lru.test.ts', test: 'up to a number of bytes, but always the newest' }],
  },
]
