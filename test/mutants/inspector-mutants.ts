import type { Case, Mutant } from './mutant.ts'

const past = (test: string): Case => ({ file: 'studio/inspector/past-views.test.ts', test })
const spans = (test: string): Case => ({ file: 'studio/inspector/spans.test.ts', test })
const prompt = (test: string): Case => ({ file: 'studio/inspector/prompt.test.ts', test })
const opened = (test: string): Case => ({ file: 'studio/open/read-export.test.ts', test })

/** Bugs that show another moment than the one that was asked for, another prompt, or a file as if it were a server. */
export const inspectorMutants: readonly Mutant[] = [
  {
    name: 'the time slider: the nearest view may be a later one',
    edits: [
      {
        file: 'studio/inspector/past-views.ts',
        find: 'for (let at = seq - (seq % stride); at > checkpoint; at -= stride) {',
        replace: 'for (let at = seq - (seq % stride) + stride; at > checkpoint; at -= stride) {',
      },
    ],
    killedBy: [past('the view of any moment is the fold of the events up to it')],
  },
  {
    name: 'the time slider: a long log is read from its beginning',
    edits: [
      {
        file: 'studio/inspector/past-views.ts',
        find: 'return Math.floor((seq - 1) / chunkSize) * chunkSize',
        replace: 'return Math.floor((seq - 1) / (chunkSize * 1_000_000)) * chunkSize',
      },
    ],
    killedBy: [past('a step reads only its own thousand events, and nothing that was read before')],
  },
  {
    name: 'prompts: the cache is said to hold although a message is gone',
    edits: [
      {
        file: 'studio/inspector/prompt-diff.ts',
        find: 'brokenAt: common < before.length ? common : null,',
        replace: 'brokenAt: common < now.length ? common : null,',
      },
    ],
    killedBy: [prompt('a message that is gone from the end breaks it, too')],
  },
  {
    name: 'exports: a gap in a log goes unseen',
    edits: [
      {
        file: 'studio/open/read-export.ts',
        find: 'if (seq !== events.length + 1)',
        replace: 'if (seq < events.length + 1)',
      },
    ],
    killedBy: [opened('with a gap in a log, a line that is not JSON, or rows of nothing is read up to there')],
  },
  {
    name: 'exports: what would change a file is answered',
    edits: [
      {
        file: 'studio/open/export-fetch.ts',
        find: "if (request.method !== 'GET')",
        replace: "if (request.method === 'DELETE')",
      },
    ],
    killedBy: [opened('changes nothing')],
  },
  {
    name: 'the time slider: each pane asks for its own checkpoint',
    edits: [
      {
        file: 'studio/inspector/past-views.ts',
        find: 'this.#asked.set(seq, asked)',
        replace: '',
      },
    ],
    killedBy: [past('panes that ask for the same moment at the same time share one request')],
  },
  {
    name: 'the timeline of a past moment shows how its model call will end',
    edits: [
      {
        file: 'studio/inspector/spans.ts',
        find: 'if (attempt.to <= this.#until)',
        replace: 'if (attempt.to <= Number.POSITIVE_INFINITY)',
      },
    ],
    killedBy: [spans('shows a call that had not ended at a past moment as one that goes on')],
  },
  {
    name: 'the timeline: a turn whose child agent waits is said to run',
    edits: [
      {
        file: 'studio/inspector/spans.ts',
        find: "turn.status === 'running' || turn.status === 'waiting' ? { ...turn, status: phase } : turn",
        replace: 'turn',
      },
    ],
    killedBy: [spans('an open turn is in the phase of the conversation, and one that has ended is not')],
  },
  {
    name: 'a long log: two folds share one index of its turns',
    edits: [{ file: 'src/log/state.ts', find: 'kept.delete(turns)', replace: '' }],
    killedBy: [
      {
        file: 'src/log/turn-index.test.ts',
        test: 'two folds that go on from the same long state know nothing of each other',
      },
    ],
  },
  {
    name: 'compare: words of unlike answers are shown in turn',
    edits: [
      { file: 'studio/inspector/answer-diff.ts', find: 'const leastCommon = 0.5', replace: 'const leastCommon = 0' },
    ],
    killedBy: [
      {
        file: 'studio/inspector/answer-diff.test.ts',
        test: 'answers with little in common are shown whole, one after the other',
      },
    ],
  },
]
