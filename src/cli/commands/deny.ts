import { answerArgs, keyOf } from '../answer/answer-args.ts'
import { findPending } from '../answer/find-pending.ts'
import { tellAnswered } from '../answer/tell-answered.ts'
import { command } from '../command.ts'
import { withTarget } from '../target/open-target.ts'

export const deny = command({
  args: {
    ...answerArgs,
    reason: { type: 'string', valueHint: 'text', description: 'Why; the model reads it' },
  },
  about: 'The call does not run, and the agent goes on without it.',
  examples: [
    ['deny ticket-42', 'the one call that waits there'],
    [`deny ticket-42 --reason 'The order is too old.'`, 'with a reason that the model reads'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const { ref, tool } = await findPending(target, args, {
        kinds: ['approval'],
        what: 'an approval',
      })
      const options = { ...keyOf(args), ...(args.reason ? { reason: args.reason } : {}) }
      const answered = await target.conversation(args.conversation).deny(ref, options)
      return tellAnswered(answered, `Denied: ${tool}.`, output)
    }),
})
