import { readValue } from '../answer/read-value.ts'
import { command } from '../command.ts'
import { withTarget } from '../target/open-target.ts'
import { targetArgs, workArgs } from '../target/target-args.ts'
import { tellStanding } from '../tell-standing.ts'

export const flowsStart = command({
  args: {
    flow: { type: 'positional', required: true, description: "The flow's name" },
    session: { type: 'positional', required: true, description: "The session's id" },
    input: { type: 'positional', required: false, description: 'JSON; - reads stdin; default: null' },
    key: { type: 'string', description: 'The same key is the same start, however often it is asked for' },
    ...workArgs,
    ...targetArgs,
  },
  about: "Needs the flow's code: a config, or a server that has it.",
  examples: [
    [`flows start import import-7 '{"file":"a.csv"}' --url http://127.0.0.1:4111`, 'on a running server'],
    ['flows start import import-7 --work', 'on the store of the config, by this process'],
  ],
  run: ({ args, output }) =>
    withTarget(
      args,
      output,
      async (target) => {
        const input = args.input === undefined ? null : await readValue('The input', args.input)
        const standing = await target.flow(args.flow, args.session).start(input, args.key ? { key: args.key } : {})
        return tellStanding(args.session, standing, output)
      },
      { work: args.work ?? false, create: args.work ?? false },
    ),
})
