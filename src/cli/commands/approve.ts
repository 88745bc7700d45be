import { answerArgs, keyOf } from '../answer/answer-args.ts'
import { findPending } from '../answer/find-pending.ts'
import { readValue } from '../answer/read-value.ts'
import { tellAnswered } from '../answer/tell-answered.ts'
import { command } from '../command.ts'
import { withTarget } from '../target/open-target.ts'

export const approve = command({
  args: {
    ...answerArgs,
    args: {
      type: 'string',
      valueHint: 'json',
      description: "What it runs with instead of the model's arguments; - reads stdin",
    },
  },
  about: 'Of all who answer, one wins: whoever comes later is told who did, with exit code 4.',
  examples: [
    ['approve ticket-42', 'the one call that waits there'],
    ['approve ticket-42 --call 3f2a9c1e', 'one of several'],
    [`approve ticket-42 --args '{"orderId":"o-17","cents":500}'`, 'with other arguments; both are recorded'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const edited = args.args === undefined ? {} : { args: await readValue('--args', args.args) }
      const { ref, tool } = await findPending(target, args, {
        kinds: ['approval'],
        what: 'an approval',
      })
      const answered = await target.conversation(args.conversation).approve(ref, { ...edited, ...keyOf(args) })
      return tellAnswered(answered, `Approved: ${tool}.`, output)
    }),
})
