import type { Case, Mutant } from './mutant.ts'

const memory = (test: string): Case => ({ file: 'src/stores/memory/memory-store.test.ts', test })
const model: Case = { file: 'test/model/model.test.ts', test: 'the memory store does what the model does' }

/** Bugs in what the store's verbs promise to programs that call them from outside. */
export const contractMutants: readonly Mutant[] = [
  {
    name: 'an approval that is ended as errored is granted',
    edits: [
      {
        file: 'src/store/ended-call.ts',
        find: "if (kind === 'approval') return [resolution('denied', told)]",
        replace: "if (kind === 'approval') return [resolution('resolved', told)]",
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
        file: 'src/store/ended-call.ts',
        find: "return [{ type: 'tool_result', content: result }, resolution('denied', told)]",
        replace: "return result.ok ? [] : [resolution('resolved', told)]",
      },
    ],
    killedBy: [
      memory('a call that waits for elicitation and is ended as errored reads as an error, with the reason'),
      model,
    ],
  },
  {
    name: 'the reason of an errored approval is lost unless it is a text',
    edits: [
      {
        file: 'src/store/ended-call.ts',
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
    name: 'a call that is ended by its id was ended by the system, whoever did',
    edits: [
      {
        file: 'src/store/tenant-store.ts',
        find: 'events: eventsOfEnd({ callId, round, kind, status, value: result, who }),',
        replace: "events: eventsOfEnd({ callId, round, kind, status, value: result, who: who && 'system' }),",
      },
    ],
    killedBy: [
      memory('a call that waits for approval and is ended as errored reads as an error, with the reason'),
      model,
    ],
  },
  {
    name: 'a row may read as an error beside an event that grants the call',
    edits: [
      {
        file: 'src/store/prepare-change.ts',
        find: "if (event?.type === 'resolution') checkSameEnd(item, event.content)",
        replace: "if (event?.type === 'seeded') checkSameEnd(item, event.content as never)",
      },
    ],
    killedBy: [memory('a commit whose row and event tell different ends is refused'), model],
  },
  {
    name: 'the doctor takes the row of an errored call for damaged',
    edits: [
      {
        file: 'src/upkeep/compare-call.ts',
        find: '|| (isErrored && textDigest(asLogged(row)) === expected.digest)',
        replace: '',
      },
    ],
    killedBy: [
      { file: 'test/stories/humans-errored.test.ts', test: 'a client tool ends with an error, not with a result' },
    ],
  },
  {
    name: 'the end of a call is announced again when somebody answers it too late',
    edits: [
      {
        file: 'src/view/announce.ts',
        find: 'if (!end || endOfCall(before, callId)) return []',
        replace: 'if (!end) return []',
      },
    ],
    killedBy: [{ file: 'src/view/announce.test.ts', test: 'a resolution of a call that has ended announces nothing' }],
  },
]
