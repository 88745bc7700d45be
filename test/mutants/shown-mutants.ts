import type { Case, Mutant } from './mutant.ts'

const atRest: Case = {
  file: 'test/studio/whole.test.ts',
  test: 'at rest amber is the only colour, in both themes: what runs, failed or is a session has its own',
}

/** Bugs that hide something from the people who look at the studio. */
export const shownMutants: readonly Mutant[] = [
  {
    name: 'text of strangers: a character without a width stays unseen',
    edits: [{ file: 'studio/parts/shown-text.ts', find: '|\\p{Cf}|', replace: '|\\p{Bidi_Control}|' }],
    killedBy: [
      {
        file: 'studio/parts/shown-text.test.ts',
        test: 'characters without a width are shown by their numbers, except where they belong to an emoji or a Persian word',
      },
    ],
  },
  {
    name: 'health: the newest bucket lies outside of its chart',
    edits: [{ file: 'studio/health/figures.ts', find: 'last! + half]', replace: 'last!]' }],
    killedBy: [
      {
        file: 'studio/health/figures.test.ts',
        test: 'a chart reaches from the beginning of its first bucket to the end of its newest',
      },
    ],
  },
  {
    name: 'figures: a turn that ended counts as one that waited for an answer',
    edits: [{ file: 'src/upkeep/stats.ts', find: 'order === 2 || timeToFirstTokenMs', replace: 'timeToFirstTokenMs' }],
    killedBy: [
      {
        file: 'src/upkeep/stats.test.ts',
        test: 'from the last answer of a person to the first token after it, in the same log and turn',
      },
    ],
  },
  {
    name: 'figures: a question that was answered has never waited',
    edits: [{ file: 'src/upkeep/stats.ts', find: '    ...answered,\n', replace: '' }],
    killedBy: [
      {
        file: 'src/upkeep/stats.test.ts',
        test: 'the age of the oldest question over time: of those that were answered since, and of those that wait',
      },
    ],
  },
  {
    name: 'a list with a filter has the total of the list without it',
    edits: [
      {
        file: 'src/server/routes/pages.ts',
        find: 'if (Object.values(more).some((value) => value !== undefined)) return null',
        replace: 'void more',
      },
    ],
    killedBy: [
      {
        file: 'test/server/list-totals.test.ts',
        test: 'the first page of a list tells how many there are, where more follow and the store has counted them',
      },
    ],
  },
  {
    name: 'colours: what has ended on a timeline is drawn as if it ran',
    edits: [
      {
        file: 'studio/inspector/turn-rows.tsx',
        find: 'to === null ? (going[kind] ?? ended) : ended',
        replace: '(going[kind] ?? ended)',
      },
    ],
    killedBy: [atRest],
  },
  {
    name: 'colours: the button that is pressed first has one of its own',
    edits: [{ file: 'studio/parts/button.tsx', find: 'bg-strong text-on-strong', replace: 'bg-accent text-on-strong' }],
    killedBy: [atRest],
  },
  {
    name: 'timeline: the bar of a wait does not say who answered',
    edits: [
      {
        file: 'studio/inspector/turn-rows.tsx',
        find: "{kind === 'wait' && detail !== undefined && (",
        replace: "{kind === 'queue' && detail !== undefined && (",
      },
    ],
    killedBy: [
      {
        file: 'test/studio/inspector.test.ts',
        test: 'a click in the timeline selects in the log and the transcript, and the search finds it',
      },
    ],
  },
  {
    name: 'tool card: what was denied has failed',
    edits: [
      {
        file: 'studio/conversation/tool-card.tsx',
        find: "(refusalOf(facts) ?? 'failed')",
        replace: "'failed'",
      },
    ],
    killedBy: [
      {
        file: 'test/studio/steering.test.ts',
        test: 'a call that was denied says so, and by whom: it has not failed',
      },
    ],
  },
]
