import type { Case, Mutant } from './mutant.ts'

const onStore = (test: string): Case => ({ file: 'src/cli/target/store-target.test.ts', test })

export const cliMutants: readonly Mutant[] = [
  {
    name: 'cli: a command lists no more than a server does at once',
    edits: [
      {
        file: 'src/cli/commands/list.ts',
        find: 'if (cursor === null || items.length >= limit)',
        replace: 'if (true)',
      },
    ],
    killedBy: [onStore('a command lists as many as it is asked for, also more than a server lists at once')],
  },
  {
    name: 'cli: a failure of the store is told as a server that cannot be reached',
    edits: [
      { file: 'src/client/request.ts', find: '    if (PerdureError.isInstance(cause)) throw cause\n', replace: '' },
    ],
    killedBy: [onStore('an error of the store reaches the command whole, with the path of the file')],
  },
  {
    name: 'cli: an aborted watch of a store goes on',
    edits: [
      {
        file: 'src/cli/target/store-target.ts',
        find: 'if (!signal || !response.body) return',
        replace: 'if (true) return',
      },
    ],
    killedBy: [onStore('an aborted signal ends the watching of a store')],
  },
]
