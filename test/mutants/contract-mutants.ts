import type { Case, Mutant } from './mutant.ts'

const memory = (test: string): Case => ({ file: 'src/store/memory/memory-store.test.ts', test })
const reference: Case = {
  file: 'test/reference-store/reference-store.test.ts',
  test: 'the memory store does what the reference store does',
}

/** Bugs in what the store's verbs promise to programs that call them from outside. */
export const contractMutants: readonly Mutant[] = [
  {
    name: 'an approval that is ended as errored is granted',
    edits: [
      {
        file: 'src/store/change.ts',
        find: "if (kind === 'approval') return [denied]",
        replace: "if (kind === 'approval') return [resolution('resolved', value)]",
      },
    ],
    killedBy: [
      {
        file: 'test/stories/humans-errored.test.ts',
        test: 'an approval is not granted: the tool does not run, and the model reads why',
      },
      memory('a call that waits for approval and is ended as errored reads as an error, with the reason'),
    ],
  },
  {
    name: 'the error of a question is its answer',
    edits: [
      {
        file: 'src/store/change.ts',
        find: "return [{ type: 'tool_result', content: result }, denied]",
        replace: "return result.ok ? [] : [resolution('resolved', value)]",
      },
    ],
    killedBy: [
      memory('a call that waits for elicitation and is ended as errored reads as an error, with the reason'),
      reference,
    ],
  },
  {
    name: 'the reason of an errored approval is lost unless it is a text',
    edits: [
      {
        file: 'src/store/change.ts',
        find: "return isText(fieldOf(value, 'reason')) ? value : { reason: errorIn(value) }",
        replace: 'return value',
      },
    ],
    killedBy: [
      {
        file: 'src/store/ended-call.test.ts',
        test: 'errored, on approval with an object with an error: the model reads the reason as an error',
      },
    ],
  },
  {
    name: 'a call that is ended by its id was always ended by the system',
    edits: [
      {
        file: 'src/store/tenant-store.ts',
        find: 'eventsOfEnd({ callId, round, kind, status, value: result, who })',
        replace: "eventsOfEnd({ callId, round, kind, status, value: result, who: who && 'system' })",
      },
    ],
    killedBy: [
      memory('a call that waits for approval and is ended as errored reads as an error, with the reason'),
      reference,
    ],
  },
  {
    name: 'a row may read as an error beside an event that grants the call',
    edits: [
      {
        file: 'src/store/prepare-change.ts',
        find: '    if (event) checkSameEnd(item, event.content)\n',
        replace: '',
      },
    ],
    killedBy: [memory('a commit whose row and event disagree about the end is refused'), reference],
  },
  {
    name: 'the doctor takes the row of an errored call for damaged',
    edits: [
      {
        file: 'src/upkeep/expected-calls.ts',
        find: '|| (isErrored && textDigest(asLogged(row)) === expected.digest)',
        replace: '',
      },
    ],
    killedBy: [
      { file: 'test/stories/humans-errored.test.ts', test: 'whatever shape the reason has, the doctor finds nothing' },
    ],
  },
  {
    name: 'the end of a call is announced again when a late answer arrives',
    edits: [
      {
        file: 'src/view/live-events.ts',
        find: 'return end && !(before && callEnd(before)) ? ',
        replace: 'return end ? ',
      },
    ],
    killedBy: [{ file: 'src/view/announcer.test.ts', test: 'a resolution of a call that has ended announces nothing' }],
  },
  {
    name: 'an event from outside is checked as it was given, not as it is written',
    edits: [
      {
        file: 'src/store/prepare-change.ts',
        find: 'content: decode(content) } as NewEvent',
        replace: 'content: event.content } as NewEvent',
      },
    ],
    killedBy: [memory('an event whose content.title is wrong is refused with its name (36: titled)')],
  },
  {
    name: 'an event of an unknown type is written',
    edits: [
      {
        file: 'src/store/prepare-change.ts',
        find: '  checkNewEvent(isOwn ?',
        replace: "  if (event.type !== ('from_the_future' as never)) checkNewEvent(isOwn ?",
      },
    ],
    killedBy: [memory('an event whose type is wrong is refused with its name (1: from_the_future)'), reference],
  },
  {
    name: 'the content of an event is taken as it is',
    edits: [
      {
        file: 'src/log/validate-event.ts',
        find: 'if (isKnownType(event.type)) validateEvent(event)\n  else throw',
        replace: 'if (!isKnownType(event.type)) throw',
      },
    ],
    killedBy: [memory('an event whose content.callId is wrong is refused with its name (18: resolution)'), reference],
  },
  {
    name: 'memory: anybody writes what an owner did, though a lease is live',
    edits: [
      {
        file: 'src/store/memory/commit-change.ts',
        find: 'isLeased(row, now) || hasOtherPending',
        replace: 'hasOtherPending',
      },
    ],
    killedBy: [memory('tool_result needs the epoch while a lease is live'), reference],
  },
  {
    name: 'sqlite: anybody writes what an owner did, though a call is pending',
    edits: [
      {
        file: 'src/store/sqlite/commit-change.ts',
        find: 'return pendingIds(db, head.cid).some(',
        replace: 'return pendingIds(db, head.cid).slice(9).some(',
      },
    ],
    killedBy: [
      {
        file: 'src/store/sqlite/sqlite-store.test.ts',
        test: 'tool_result needs the epoch while a call is pending',
      },
    ],
  },
  {
    name: 'postgres: anybody writes what an owner did, though a call is pending',
    edits: [
      {
        file: 'src/store/postgres/commit-function.ts',
        find: 'c.leased_until > v_now OR EXISTS',
        replace: 'c.leased_until > v_now AND EXISTS',
      },
    ],
    killedBy: [
      {
        file: 'src/store/postgres/postgres-store.test.ts',
        test: 'tool_result needs the epoch while a call is pending',
      },
    ],
  },
  {
    name: 'anybody writes what an owner did with the rows of its calls',
    edits: [
      {
        file: 'src/store/prepare-change.ts',
        find: '!options.endsCall && change.events.some(isOwnersEvent)',
        replace: '!options.endsCall && !change.calls && change.events.some(isOwnersEvent)',
      },
    ],
    killedBy: [memory('tool_result needs the epoch while a lease is live'), reference],
  },
  {
    name: 'postgres: a change that only appends is not asked for its epoch',
    edits: [{ file: 'src/store/postgres/commit-change.ts', find: '    !needsFree &&\n', replace: '' }],
    killedBy: [
      {
        file: 'src/store/postgres/postgres-store.test.ts',
        test: 'turn_ended needs the epoch while a lease is live',
      },
    ],
  },
  {
    name: 'a result of no call breaks the fold',
    edits: [
      {
        file: 'src/log/fold-events.ts',
        find: "if (!found) return this.#ignore(event, { what: 'call', id: callId })\n    const { call } = found",
        replace:
          "if (!found) throw new EventInvalidError(event, `it names call '${callId}'`)\n    const { call } = found",
      },
    ],
    killedBy: [
      { file: 'test/log/any-events.test.ts', test: 'any well-formed events fold, all at once or one by one' },
      {
        file: 'src/log/fold-events.test.ts',
        test: 'a result of a call that never was changes nothing, and is reported',
      },
    ],
  },
  {
    name: 'a second call of the same id is folded beside the first',
    edits: [
      {
        file: 'src/log/fold-events.ts',
        find: 'if (callPosition(turn.calls, callId) >= 0 || this.#isInNewest(callId)) {',
        replace: 'if (this.#turns.length === 0) {',
      },
    ],
    killedBy: [
      {
        file: 'test/log/any-events.test.ts',
        test: 'whatever the log, the owner comes to rest, and a cancel ends the turn',
      },
    ],
  },
  {
    name: 'a second outcome of a session breaks its fold',
    edits: [
      {
        file: 'src/engine/flow/flow-state.ts',
        find: 'return settled.has(position) ? `settles position ${position}, which has an outcome already` : null',
        replace: 'return null',
      },
    ],
    killedBy: [
      {
        file: 'test/log/any-events.test.ts',
        test: 'any well-formed events of a session fold to a record that is whole',
      },
    ],
  },
  {
    name: 'the doctor says nothing of events that nothing acts on',
    edits: [
      {
        file: 'src/upkeep/finish-examination.ts',
        find: '  await examiner.ignored.report(reader, examiner, folded)\n',
        replace: '',
      },
    ],
    killedBy: [
      {
        file: 'test/upkeep/ignored-events.test.ts',
        test: 'what names nothing in the log is told of, with its place and why',
      },
    ],
  },
  {
    name: 'the doctor takes what comes late for what names nothing',
    edits: [
      {
        file: 'src/upkeep/log-fold.ts',
        find: 'if (place === undefined || place > seq) examiner',
        replace: 'if (place !== seq) examiner',
      },
    ],
    killedBy: [
      {
        file: 'test/upkeep/ignored-events.test.ts',
        test: 'what comes late, of turns that ended long ago, is none of it',
      },
    ],
  },
  {
    name: 'a log that a later version has written to cannot be shown',
    edits: [
      {
        file: 'src/runtime/read/read-view.ts',
        find: 'if (error instanceof EventUnknownError) return loadReadable(store, id)',
        replace: 'if (error instanceof TypeError) return loadReadable(store, id)',
      },
    ],
    killedBy: [
      {
        file: 'test/stories/working-sets-unknown-event.test.ts',
        test: 'is read up to, and readers learn which version is needed',
      },
    ],
  },
  {
    name: 'a page of history goes past an event that is not known',
    edits: [
      {
        file: 'src/runtime/read/turn-events.ts',
        find: 'const { known, unknownEvent } = knownPart([...page.events])',
        replace:
          'const { known, unknownEvent } = { known: [...page.events], unknownEvent: knownPart([]).unknownEvent }',
      },
    ],
    killedBy: [
      {
        file: 'test/stories/working-sets-unknown-event.test.ts',
        test: 'is read up to, and readers learn which version is needed',
      },
    ],
  },
  {
    name: 'an answer is refused by a row that says something else than the log',
    edits: [
      {
        file: 'src/runtime/answer-call.ts',
        find: 'while (!result.ok && !result.winner) {',
        replace: 'while (!result.ok && !result.winner && n > 9) {',
      },
    ],
    killedBy: [
      { file: 'test/stories/humans-wrong-rows.test.ts', test: 'says that it has ended can be answered, once' },
    ],
  },
  {
    name: 'a row that says something else than the log keeps its turn from being cancelled',
    edits: [
      {
        file: 'src/engine/turn/pending-outcomes.ts',
        find: 'if (!pending || !change.resolve) return change',
        replace: 'if (!change.resolve || pending) return change',
      },
    ],
    killedBy: [
      {
        file: 'src/engine/turn/row-guards.test.ts',
        test: 'a commit ends the rows of all its resolutions, until one has disagreed; then those that are pending',
      },
    ],
  },
]
