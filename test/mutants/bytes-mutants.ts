import type { Case, Mutant } from './mutant.ts'

const memory = 'src/stores/memory/memory-store.test.ts'
const sqlite = 'src/stores/sqlite/sqlite-store.test.ts'
const postgres = 'src/stores/postgres/postgres-store.test.ts'
const wholeEvents = 'maxBytes keeps as many whole events as fit, from either end of the range, and at least one'
const readsAll = 'a page says where it begins and ends, and reading on until it says so reads all, once'
const inMemory = (test: string): Case => ({ file: memory, test })

/** Bugs in what bounds answers in bytes. */
export const bytesMutants: readonly Mutant[] = [
  {
    name: 'a page of bytes has one row more than fits',
    edits: [
      {
        file: 'src/store/fitting-rows.ts',
        find: 'if (kept.length > 0 && bytes > maxBytes) break\n    kept.push(row)',
        replace: 'kept.push(row)\n    if (bytes > maxBytes) break',
      },
    ],
    killedBy: [inMemory(wholeEvents), { file: sqlite, test: wholeEvents }],
  },
  {
    name: 'a row that does not fit makes an empty page',
    edits: [
      {
        file: 'src/store/fitting-rows.ts',
        find: 'if (kept.length > 0 && bytes > maxBytes) break',
        replace: 'if (bytes > maxBytes) break',
      },
    ],
    killedBy: [inMemory(wholeEvents)],
  },
  {
    name: 'bytes are counted as characters',
    edits: [
      {
        file: 'src/store/fitting-rows.ts',
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
        file: 'src/stores/memory/memory-driver.ts',
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
        file: 'src/stores/sqlite/database.ts',
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
        file: 'src/stores/postgres/page.ts',
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
        file: 'src/store/event-page.ts',
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
        file: 'src/store/event-page.ts',
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
]
