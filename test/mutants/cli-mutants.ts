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
        file: 'src/client/watch.ts',
        find: 'body.pipeThrough(new TransformStream(), { signal: connected })',
        replace: 'body',
      },
    ],
    killedBy: [onStore('an aborted signal ends the watching of a store')],
  },
  {
    name: 'cli: a chat that cannot be drawn ends as if the person had left',
    edits: [
      {
        file: 'src/cli/chat/chat-session.ts',
        find: '      await watching\n    } finally',
        replace: '      watching.catch(() => {})\n    } finally',
      },
    ],
    killedBy: [
      {
        file: 'src/cli/chat/chat-session.test.ts',
        test: 'an error in the drawing of view 2 ends the chat with that error',
      },
    ],
  },
  {
    name: 'cli: tail --after repeats what came before it',
    edits: [
      {
        file: 'src/cli/transcript/transcript.ts',
        find: 'return seq > (this.#options.after ?? 0)',
        replace: 'return true',
      },
    ],
    killedBy: [
      {
        file: 'src/cli/transcript/transcript.test.ts',
        test: 'a transcript that begins after an event leaves out what came before it, also within a turn',
      },
    ],
  },
  {
    name: 'cli: an escape sequence is typed into the line',
    edits: [
      {
        file: 'src/cli/chat/prompter.ts',
        find: '/\\p{Cc}/u.test(text) ? null : text',
        replace: 'text',
      },
    ],
    killedBy: [{ file: 'src/cli/chat/prompter.test.ts', test: 'a control character is not typed' }],
  },
  {
    name: 'cli: Ctrl-C at a question cancels the turn',
    edits: [
      {
        file: 'src/cli/chat/chat-session.ts',
        find: '    if (this.#question) return this.#question.leave.abort()\n    const open = this.#view && this.isRunning ?',
        replace: '    const open = this.#view ?',
      },
    ],
    killedBy: [
      {
        file: 'test/cli/demo-terminal.test.ts',
        test: 'Ctrl-C at a question leaves the call waiting, and so does leaving the chat',
      },
    ],
  },
  {
    name: 'cli: the second Ctrl-C cancels a turn that only waits',
    edits: [
      {
        file: 'src/cli/chat/chat-session.ts',
        find: 'this.#view && this.isRunning ? openTurn(',
        replace: 'this.#view ? openTurn(',
      },
    ],
    killedBy: [
      {
        file: 'test/cli/demo-terminal.test.ts',
        test: 'Ctrl-C at a question leaves the call waiting, and so does leaving the chat',
      },
    ],
  },
  {
    name: 'cli: init writes modules that a CommonJS package cannot load',
    edits: [
      {
        file: 'src/cli/commands/init.ts',
        find: "existing['type'] === 'module' ? 'ts' : 'mts'",
        replace: "'ts'",
      },
    ],
    killedBy: [
      {
        file: 'test/cli/init.test.ts',
        test: 'in a project of type commonjs it adds an agent and a config, and leaves the rest alone',
      },
    ],
  },
  {
    name: 'cli: an answer that no process takes up says nothing',
    edits: [
      {
        file: 'src/cli/answer/find-pending.ts',
        find: "record.status !== 'active' || record.lastSeq !== lastSeq",
        replace: 'record.lastSeq >= lastSeq',
      },
    ],
    killedBy: [
      {
        file: 'test/cli/init.test.ts',
        test: 'the agent of a new project asks for approval, and goes on when it has it',
      },
    ],
  },
]
