import { CommandLineError } from '../../base/errors/cli-errors.ts'
import { createSigner } from '../../base/signer.ts'
import { serveMcpStdio } from '../../mcp/server/serve-stdio.ts'
import { stateSigner } from '../../runtime/signed-files.ts'
import { command, countOf, exitCodes } from '../command.ts'
import { withTarget } from '../target/open-target.ts'
import { targetArgs } from '../target/target-args.ts'

export const mcp = command({
  args: {
    agent: {
      type: 'string',
      description: 'The agents to serve, with commas between them; default: those of the config',
    },
    'wait-ms': { type: 'string', valueHint: 'n', description: 'How long a call waits for the agent; default: 50000' },
    ...targetArgs,
  },
  about:
    'Speaks the Model Context Protocol on standard input and output, for desktop clients that start it as a process: agents are tools, conversations are resources, and the inbox can be listed and answered. Runs the agents of the config, or talks to a server with --url.',
  examples: [
    ['mcp', 'the agents of the config here or above'],
    ['mcp --url http://127.0.0.1:4111 --agent support', 'an agent of a running server'],
  ],
  async run({ args, output, interrupted }) {
    const waitMs = countOf('wait-ms', args['wait-ms']) ?? 50_000
    const signal = interrupted()
    await withTarget(
      args,
      output,
      async (target) => {
        const named = args.agent?.split(',').filter((name) => name !== '')
        const agents = named ?? target.agents
        if (!agents || agents.length === 0) throw new CommandLineError('Name the agents to serve with --agent', 'mcp')
        // Answers to questions arrive with a signature; with the config's secret they are valid after a restart, too.
        const states = stateSigner(createSigner(target.secret))
        await serveMcpStdio({ client: target, agents, states, waitMs }, signal)
      },
      { work: true, create: 'with_config' },
    )
    return exitCodes.ok
  },
})
