import { command } from '../command.ts'
import { countOf } from '../count-of.ts'
import { exitCodes } from '../exit-codes.ts'
import { withTarget } from '../target/open-target.ts'
import { targetArgs } from '../target/target-args.ts'
import { commandLine } from '../transcript/command-line.ts'

export const fork = command({
  args: {
    conversation: { type: 'positional', required: true, description: 'Its id' },
    at: { type: 'string', valueHint: 'seq', description: 'The last event that is copied; default: all of them' },
    as: { type: 'string', valueHint: 'id', description: 'The id of the copy; default: a new one' },
    continue: { type: 'boolean', description: 'Go on with what its log says is to be done' },
    ...targetArgs,
  },
  about:
    'The copy does nothing until it is sent to, answered or continued. `show` tells the number of each message as #seq.',
  examples: [
    ['fork ticket-42 --at 7 --as ticket-42-b', 'up to event 7, under a name of its own'],
    ['fork ticket-42 --json', 'all of it; prints the id of the copy'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const at = countOf('at', args.at)
      const options = { ...(at === undefined ? {} : { at }), ...(args.as ? { id: args.as } : {}) }
      const copy = await target.conversation(args.conversation).fork(options)
      if (args.continue) await copy.continue()
      output.result({ id: copy.id, from: args.conversation, at: at ?? null }, () => [copy.id])
      output.note(`Look at it: ${commandLine(['show', copy.id], args)}`)
      return exitCodes.ok
    }),
})
