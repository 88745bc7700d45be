import { createInterface } from 'node:readline'
import { onAbort } from '../../base/abort.ts'
import { CommandLineError } from '../../base/errors/cli-errors.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { uuidV7 } from '../../base/uuid-v7.ts'
import { parseJson } from '../answer/find-pending.ts'
import { type ChatPort, chatPort } from '../chat/chat-port.ts'
import { atTerminal, ChatSession } from '../chat/chat-session.ts'
import { PlainChat } from '../chat/plain-chat.ts'
import { Screen, screenLogger } from '../chat/screen.ts'
import { command, exitCodes, Interrupted } from '../command.ts'
import type { Output } from '../output.ts'
import { openTarget, type Target } from '../target/open-target.ts'
import { type TargetArgs, targetArgs, userNameOf } from '../target/target-args.ts'
import { safe } from '../terminal/text.ts'
import { commandLine } from '../transcript/command-line.ts'
import { Transcript } from '../transcript/transcript.ts'

export const chat = command({
  about: [
    'On a store it runs the agents of the config; with --url it talks to a running server.',
    'Messages typed while a turn runs are queued; /steer gives one to the turn. Ctrl-C cancels a turn that runs, and leaves a question for later; twice at the prompt it leaves.',
    'Without a terminal, each line of standard input is a message, and calls that wait for a person are only printed.',
  ].join('\n'),
  args: {
    id: { type: 'positional', required: false, description: 'The conversation; default: a new one' },
    agent: { type: 'string', description: 'The agent of a new conversation; default: the only agent of the config' },
    data: { type: 'string', description: 'JSON that is recorded with each message: turn.data of hooks and tools' },
    ...targetArgs,
  },
  examples: [
    ['chat ticket-42 --agent support', 'begin a conversation, or continue it'],
    ['chat ticket-42 --url http://127.0.0.1:4111', 'on a running server'],
    ['chat ticket-43 --agent support < questions.txt', 'a message for each line'],
    [`chat ticket-44 --agent support --data '{"locale":"de"}'`, 'with data for its tools'],
  ],
  run: async ({ args, output, interrupted }) => {
    await runChat(args, output, interrupted())
    return exitCodes.ok
  },
})

type ChatArgs = TargetArgs & {
  readonly id?: string | undefined
  readonly agent?: string | undefined
  readonly data?: string | undefined
}

/** Talks to a conversation of the target until the person leaves or the input ends. */
async function runChat(args: ChatArgs, output: Output, signal: AbortSignal): Promise<void> {
  const data = args.data === undefined ? {} : { data: parseJson('--data', args.data) }
  const screen = new Screen(output.isJson ? { write: () => true } : process.stdout, output.colours)
  const target = await openTarget(args, output, { work: true, create: 'with_config', logger: screenLogger(screen) })
  try {
    const id = args.id ?? `chat-${uuidV7().slice(-8)}`
    const agent = await agentOf(target, id, args.agent)
    const port = chatPort(target, id, { ...(agent === null ? {} : { agent }), ...data })
    const chat: Chat = { port, id, agent: agent ?? 'agent', screen, signal }
    if (output.isInteractive) await atKeyboard(chat, target, args)
    else await fromInput(chat, target, output, args)
  } finally {
    await target.close()
  }
}

type Chat = {
  readonly port: ChatPort
  readonly id: string
  readonly agent: string
  readonly screen: Screen
  readonly signal: AbortSignal
}

async function atKeyboard({ port, id, agent, screen, signal }: Chat, target: Target, args: ChatArgs): Promise<void> {
  const { bold, dim, yellow } = screen.colours
  screen.print(
    safe`${bold(id)}${dim(` with ${agent} on ${target.place}`)}`,
    dim('/help for the commands, Ctrl-C to cancel a turn, Ctrl-D to leave'),
  )
  if (target.agents && !target.agents.includes(agent)) {
    const where = 'your messages and answers are recorded, and a process that has it continues'
    screen.print(yellow(`The code of ${agent} is not here: ${where}.`))
  }
  const own = userNameOf(args)
  // On a server the token identifies you; the client does not learn the user.
  const session = new ChatSession(port, screen, { agent, isOwn: (who) => target.kind === 'server' || who === own })
  await atTerminal(session, { input: process.stdin, output: process.stdout }, signal)
  screen.print(dim(`The conversation is in the log. Continue with: ${commandLine(['chat', id], args)}`))
  screen.end()
}

/** Each line of standard input is a message. */
async function fromInput(
  { port, id, agent, screen, signal }: Chat,
  target: Target,
  output: Output,
  args: ChatArgs,
): Promise<void> {
  const chat = new PlainChat(port, screen, new Transcript(screen, { agent, isOwn: () => true, earlierTurns: 0 }))
  const lines = createInterface({ input: process.stdin, signal })
  const ignoreSignal = onAbort(signal, () => output.note('Finishing the running work; Ctrl-C again ends at once.'))
  try {
    for await (const text of lines) {
      if (text.trim() === '') continue
      const { turnId, view } = await chat.say(text)
      // A program that reads may need the whole answer before it sends more.
      screen.closeLine()
      if (output.isJson) output.item(await target.conversation(id).outcome(turnId), () => [])
      if (view.pending.length > 0) output.note(`It waits for an answer: ${commandLine(['show', id], args)}`)
    }
    if (signal.aborted) throw new Interrupted()
  } finally {
    ignoreSignal()
    await chat.end()
    screen.end()
  }
}

/** The agent that was named, the conversation's, or the only one of the config. Null: the server knows. */
async function agentOf(target: Target, id: string, named: string | undefined): Promise<string | null> {
  // The runtime or the server that has the agents refuses a wrong name.
  if (named !== undefined && target.agents?.length !== 0) return named
  const known = await target
    .conversation(id)
    .record()
    .catch((error: unknown) => {
      if (PerdureError.isInstance(error) && error.code === 'conversation_not_found') return null
      throw error
    })
  if (known) return named ?? known.agent
  if (target.agents?.length === 0) {
    throw new CommandLineError(
      `The conversation '${id}' does not exist yet, and there is no config here with an agent that could answer; name one with --config, or a running server with --url`,
      'chat',
    )
  }
  const [only, ...others] = target.agents ?? []
  if (only !== undefined && others.length === 0) return only
  const choice = target.agents?.length ? `: ${target.agents.join(', ')}` : ''
  throw new CommandLineError(
    `The conversation '${id}' does not exist yet; name its agent with --agent${choice}`,
    'chat',
  )
}
