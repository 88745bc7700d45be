import type { Mutant } from './mutant.ts'

/** Bugs in what all rooms share: pauses, delays, listeners for aborts, the cache of what was used last, telling logs apart. */
export const baseMutants: readonly Mutant[] = [
  {
    name: 'base: a signal that was aborted before is not noticed',
    edits: [
      {
        file: 'src/base/abort.ts',
        find: '  if (signal?.aborted) callback()\n  else signal',
        replace: '  signal',
      },
    ],
    killedBy: [
      {
        file: 'src/base/abort.test.ts',
        test: 'a callback runs once with its signal, at once where that was aborted before, and never after it stopped listening',
      },
    ],
  },
  {
    name: 'base: a pause that is over goes on listening to its signal',
    edits: [
      { file: 'src/base/abort.ts', find: '      stopListening()\n      resolve(true)', replace: '      resolve(true)' },
    ],
    killedBy: [{ file: 'src/base/abort.test.ts', test: 'a pause leaves no listener on its signal' }],
  },
  {
    name: 'base: a process ends during a pause that is awaited',
    edits: [{ file: 'src/base/abort.ts', find: '  if (unref) timer.unref()', replace: '  timer.unref()' }],
    killedBy: [
      {
        file: 'src/base/abort.test.ts',
        test: 'a process stays alive for a pause, with a clock and without, unless the pause is unreferenced',
      },
    ],
  },
  {
    name: 'base: after very many failures a delay is not a number',
    edits: [{ file: 'src/base/clock.ts', find: '2 ** Math.min(failures - 1, 52)', replace: '2 ** (failures - 1)' }],
    killedBy: [
      {
        file: 'src/base/backoff.test.ts',
        test: 'a delay doubles with each failure in a row up to the longest, however many there were',
      },
    ],
  },
  {
    name: 'base: what is set again stays as old as it was',
    edits: [
      {
        file: 'src/base/lru.ts',
        find: '    this.delete(key)\n    const bytes',
        replace: '    this.#bytes -= this.#kept.get(key)?.bytes ?? 0\n    const bytes',
      },
    ],
    killedBy: [
      {
        file: 'src/base/lru.test.ts',
        test: 'without weights only their number counts, and what is set again is the newest',
      },
    ],
  },
  {
    name: 'base: a log that was begun anew is taken for the one before it',
    edits: [
      { file: 'src/store/log-pages.ts', find: 'first?.seq === seq && first.at === at', replace: 'first?.seq === seq' },
    ],
    killedBy: [
      {
        file: 'src/store/log-pages.test.ts',
        test: 'a page is of the log that is known when it begins with the event that is known',
      },
    ],
  },
  {
    name: 'client: an event that never ends is read for ever',
    edits: [{ file: 'src/client/watch.ts', find: '    maxBufferSize: maxCharacters,\n', replace: '' }],
    killedBy: [
      {
        file: 'src/client/read-events.test.ts',
        test: 'an event that does not end is given up at its limit, in one line or in many, and its connection is let go',
      },
    ],
  },
  {
    name: 'build: errors of the built package do not name their sources',
    edits: [{ file: 'rolldown.config.ts', find: 'sourcemap: true', replace: 'sourcemap: false' }],
    killedBy: [
      { file: 'test/tooling/built-package.test.ts', test: 'the stack of an error names the sources through the maps' },
    ],
  },
  {
    name: 'build: importing perdure loads the client',
    edits: [
      {
        file: 'rolldown.config.ts',
        find: "  { name: 'web', entry: 'client/index', alsoReachedBy: 'index' },\n",
        replace: '',
      },
    ],
    killedBy: [
      {
        file: 'test/tooling/built-package.test.ts',
        test: 'importing perdure and perdure/sqlite loads a handful of files, and nothing of servers, clients, other stores or the command line',
      },
    ],
  },
]
