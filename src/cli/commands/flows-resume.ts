import { readValue } from '../answer/read-value.ts'
import { command } from '../command.ts'
import { countOf } from '../count-of.ts'
import { withTarget } from '../target/open-target.ts'
import { targetArgs, workArgs } from '../target/target-args.ts'
import { tellStanding } from '../tell-standing.ts'

export const flowsResume = command({
  args: {
    flow: { type: 'positional', required: true, description: "The flow's name" },
    session: { type: 'positional', required: true, description: "The session's id" },
    value: { type: 'positional', required: true, description: 'JSON; - reads stdin' },
    seq: { type: 'string', valueHint: 'seq', description: 'Exactly this suspension; default: the first that waits' },
    key: { type: 'string', description: 'The same key is the same answer, however often it is given' },
    ...workArgs,
    ...targetArgs,
  },
  about:
    "Needs the flow's code: a config, or a server that has it. Of all who answer, one wins; the others get exit code 4.",
  examples: [
    [`flows resume import import-7 '{"go":true}'`, 'what it waits for'],
    ['flows resume import import-7 true --seq 4', 'one of several things it waits for'],
  ],
  run: ({ args, output }) =>
    withTarget(
      args,
      output,
      async (target) => {
        const value = await readValue('The value', args.value)
        const seq = countOf('seq', args.seq)
        const options = { ...(seq === undefined ? {} : { seq }), ...(args.key ? { key: args.key } : {}) }
        return tellStanding(args.session, await target.flow(args.flow, args.session).resume(value, options), output)
      },
      { work: args.work ?? false },
    ),
})
