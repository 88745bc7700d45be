import { command } from '../command.ts'
import { countOf } from '../count-of.ts'
import { exitCodes } from '../exit-codes.ts'
import { withTarget } from '../target/open-target.ts'
import { targetArgs } from '../target/target-args.ts'
import { commandLine } from '../transcript/command-line.ts'
import { LivePrinter } from '../transcript/live-printer.ts'

export const tail = command({
  args: {
    conversation: { type: 'positional', required: true, description: 'Its id' },
    after: {
      type: 'string',
      valueHint: 'seq',
      description: 'Go on after this event, instead of beginning with the last turn',
    },
    full: { type: 'boolean', description: 'Show long arguments and results whole' },
    ...targetArgs,
  },
  about:
    'Comes back by itself when a connection breaks. Text appears as it is written where a server streams it; a store that another process works on tells whole messages.',
  examples: [
    ['tail ticket-42', 'the last turn, and what comes; Ctrl-C ends it'],
    ['tail ticket-42 --after 12 --json', 'every event after the 12th, a line each'],
  ],
  run: ({ args, output, interrupted }) =>
    withTarget(args, output, async (target) => {
      const after = countOf('after', args.after, 0)
      const conversation = target.conversation(args.conversation)
      const { agent } = await conversation.record()
      const options = { agent: agent ?? 'assistant', isFull: args.full ?? false, args, after }
      const printer = new LivePrinter(output, options)
      const signal = interrupted()
      // A person is shown what the events mean, which needs a view; a script gets the events themselves.
      const from = output.isJson && after !== undefined ? { after } : {}
      for await (const { id, event } of conversation.watch({ ...from, signal })) {
        if (output.isJson) output.item({ id, event }, () => [])
        else printer.print(event)
      }
      printer.end()
      output.note(`\nGo on with: ${commandLine(['tail', args.conversation, '--after', String(printer.seq)], args)}`)
      return signal.aborted ? exitCodes.interrupted : exitCodes.ok
    }),
})
