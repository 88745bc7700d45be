import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { withTarget } from '../target/open-target.ts'
import { targetArgs } from '../target/target-args.ts'
import type { Printable } from '../terminal/safe-text.ts'

export const cancel = command({
  args: {
    conversation: { type: 'positional', required: true, description: 'Its id' },
    turn: {
      type: 'string',
      valueHint: 'turnId',
      description: 'Another turn than the open one, such as one in the queue',
    },
    ...targetArgs,
  },
  about:
    'With its child agents and everything it waits for. On a store that nobody works on, the turn ends when somebody does.',
  examples: [
    ['cancel ticket-42', 'the open turn'],
    ['cancel ticket-42 --turn 0197…', 'one in the queue'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const outcome = await target.conversation(args.conversation).cancel(args.turn ? { turnId: args.turn } : {})
      output.result({ outcome }, () => [told(outcome?.status ?? null)])
      return exitCodes.ok
    }),
})

function told(status: string | null): Printable {
  if (status === null) return 'No turn was open: there was nothing to cancel.'
  if (status === 'terminating')
    return 'Cancel is recorded. The turn ends when a process that has the agent works on it.'
  return `The turn is ${status}.`
}
