import { runChat } from '../chat/run-chat.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { targetArgs } from '../target/target-args.ts'

export const chat = command({
  about: [
    'On a store it works with the agents of the config; with --url it talks to a running server.',
    'Messages typed while a turn runs are queued; /steer hands one to the turn. Ctrl-C cancels the turn, twice at the prompt it leaves.',
    'Without a terminal, each line of standard input is a message, and what waits for a person is only shown.',
  ].join('\n'),
  args: {
    id: { type: 'positional', required: false, description: 'The conversation; default: a new one' },
    agent: { type: 'string', description: 'Who answers, in a new conversation; default: the only agent of the config' },
    ...targetArgs,
  },
  examples: [
    ['chat ticket-42 --agent support', 'begin a conversation, or go on with it'],
    ['chat ticket-42 --url http://127.0.0.1:4111', 'on a running server'],
    ['chat ticket-43 --agent support < questions.txt', 'a message for each line'],
  ],
  run: async ({ args, output, interrupted }) => {
    await runChat(args, output, interrupted())
    return exitCodes.ok
  },
})
