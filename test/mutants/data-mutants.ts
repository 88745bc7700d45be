import type { Mutant } from './mutant.ts'

const story = 'test/stories/turns-data.test.ts'

/** Bugs in the data that comes with messages. */
export const dataMutants: readonly Mutant[] = [
  {
    name: 'data: a key stands for the message whatever its data is',
    edits: [
      {
        file: 'src/runtime/send-message.ts',
        find: 'toJsonSchema(output), untilTool, maxSteps, maxTokens, data, replaces }',
        replace: 'toJsonSchema(output), untilTool, maxSteps, maxTokens, replaces }',
      },
    ],
    killedBy: [{ file: story, test: 'is part of what a key stands for' }],
  },
  {
    name: 'data: a message brings as much of it as an event may have',
    edits: [{ file: 'src/engine/turn-options.ts', find: 'bytes > maxDataBytes', replace: 'bytes > 16 * maxDataBytes' }],
    killedBy: [{ file: story, test: 'has at most 64 KiB, and is JSON' }],
  },
  {
    name: 'data: a snapshot loses it',
    edits: [
      {
        file: 'src/log/restored-events.ts',
        find: '...(data === undefined ? {} : { data }), restoredAt: at }',
        replace: 'restoredAt: at }',
      },
    ],
    killedBy: [{ file: story, test: 'reaches a tool that runs after a restart, in a fork, and from a snapshot' }],
  },
  {
    name: 'data: the message that steers a turn changes what its tools get',
    edits: [
      {
        file: 'src/engine/turn/tool-task.ts',
        find: "const opened = turn.items.find((item) => item.type === 'user')",
        replace: "const opened = turn.items.findLast((item) => item.type === 'user')",
      },
    ],
    killedBy: [{ file: story, test: 'is null for a message without any, and one that steers does not change it' }],
  },
]
