import { basename, dirname, join, resolve } from 'node:path'
import { type Logger, silentLogger } from '../../base/logger.ts'
import { uuidV7 } from '../../base/uuid-v7.ts'
import { createClient } from '../../client/create-client.ts'
import { createScope, type Scope } from '../../define/scope.ts'
import { readLocalAccess } from '../../server/node/local-token.ts'
import { type Server, serve } from '../../server/serve.ts'
import type { PendingItem } from '../../view/view.ts'
import { chatPort } from '../chat/chat-port.ts'
import { ChatSession } from '../chat/chat-session.ts'
import { line, styled } from '../chat/line.ts'
import { PlainChat } from '../chat/plain-chat.ts'
import { atTerminal, Screen, screenLogger } from '../chat/screen.ts'
import { Transcript } from '../chat/transcript.ts'
import { command, countOf, exitCodes, Interrupted } from '../command.ts'
import { demoHelp, demoIntroduction, goodbye, storeOption } from '../demo/demo-lines.ts'
import { type DemoModels, demoModels } from '../demo/demo-models.ts'
import { killInMidTool } from '../demo/kill-in-mid-tool.ts'
import { type Demo, openDemo } from '../demo/open-demo.ts'
import { type LedgerLine, readLedger } from '../demo/support-tools.ts'
import { findConfig } from '../load-config.ts'
import type { Output } from '../output.ts'
import { clientOf } from '../target/store-target.ts'
import { userNameOf } from '../target/target-args.ts'
import { coloursOf, wantsColours } from '../terminal/text.ts'
import { perdureCommand } from '../transcript/pending-lines.ts'

type NearbyOptions = { readonly port: number; readonly storeFile: string; readonly user: string }

type Nearby = Pick<Server, 'url' | 'close'>

/** On the usual port, or on a free one where something else has it. Where another demo serves this store already, that one is as good. */
async function serveNearby(
  { runtime, store }: Pick<Demo, 'runtime' | 'store'>,
  { port, storeFile, user }: NearbyOptions,
): Promise<Nearby> {
  const name = basename(storeFile)
  const localTokenFile = join(dirname(storeFile), name === 'perdure.db' ? 'server.json' : `${name}.server.json`)
  const other = await addressOfLiving(localTokenFile)
  if (other !== null) return { url: other, close: async () => {} }
  const options = { localScope: createScope({ user }) as Scope, localTokenFile, upkeep: { store } }
  try {
    return await serve(runtime, { ...options, port })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    return serve(runtime, { ...options, port: 0 })
  }
}

/** The file of a server that was killed is still there. */
async function addressOfLiving(tokenFile: string): Promise<string | null> {
  try {
    const { url, token } = await readLocalAccess(tokenFile)
    await createClient({ url, token, fetch: impatient }).conversations({ limit: 1 })
    return url
  } catch {
    return null
  }
}

const impatient: typeof fetch = (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(1_000) })

type RunDemoOptions = {
  readonly storeFile: string
  readonly models: DemoModels
  readonly pace: number
  readonly port: number
  readonly user: string
  readonly isFresh: boolean
  readonly signal: AbortSignal
}

const demoConversation = 'demo'
const agentName = 'support'

/** The demo at a terminal: a chat with the support agent, and a server beside it. */
async function runDemo(options: RunDemoOptions): Promise<void> {
  const { storeFile, models, user, signal } = options
  const screen = new Screen(process.stdout, coloursOf(wantsColours(process.stdout, process.env)))
  const demo = await openDemo({ ...options, agentName, logger: screenLogger(screen) })
  try {
    if (options.isFresh) await forget(demo)
    const server = await serveNearby(demo, options)
    try {
      const hasBegun = (await demo.verbs.inspect(demoConversation).record()) !== null
      screen.print(...demoIntroduction({ storeFile, models, url: server.url, pid: process.pid, hasBegun }))
      const port = chatPort(clientIn(demo, options), demoConversation, agentName)
      const session = new ChatSession(port, screen, { agent: agentName, who: user, help: demoHelp })
      await atTerminal(session, { input: process.stdin, output: process.stdout }, signal)
      if (session.isRunning) screen.print(line(styled('dim', 'Finishing what runs, for three seconds at most …')))
      screen.draw()
    } finally {
      await server.close({ drainMs: 0 })
    }
  } finally {
    await demo.close()
  }
  screen.print(...goodbye)
  screen.end()
}

function clientIn({ runtime, store }: Demo, options: { readonly user: string; readonly work?: boolean }) {
  const scope = createScope({ user: options.user }) as Scope
  return clientOf(runtime, { store, scope, logger: silentLogger, work: options.work ?? true })
}

async function forget({ verbs }: Demo): Promise<void> {
  await verbs.conversation(demoConversation).delete()
  for (const { id } of await verbs.conversations({ agent: 'flow:return', limit: 1_000 }))
    await verbs.flow('return', id).delete()
}

export const demo = command({
  about:
    'A support agent on a real SQLite file, with a server beside it. Kill it in mid-turn and start it again. Without a terminal it plays a story by itself.',
  args: {
    store: {
      type: 'string',
      valueHint: 'path',
      description: 'The SQLite file; default: .perdure/perdure.db, or demo.db in a project',
    },
    port: { type: 'string', description: 'Of the server; default: 4111, or a free one where that is taken' },
    offline: { type: 'boolean', description: 'The scripted model, also where there is a key for a real one' },
    fresh: { type: 'boolean', description: 'Forget the conversation of earlier runs first' },
  },
  examples: [
    ['demo', 'talk to it; kill it; start it again'],
    ['demo --fresh --offline', 'from the beginning, without a real model'],
    ['demo | cat', 'the story, for those who only want to read'],
  ],
  run: async ({ args, output, interrupted }) => {
    const port = countOf('port', args.port, 0, 65_535) ?? 4111
    const pace = Number(process.env['PERDURE_DEMO_PACE'] ?? 1)
    // A story that tells what happens next cannot leave that to a real model.
    const isOffline = args.offline === true || !output.isInteractive
    const models = await demoModels({ env: process.env, isOffline, pace })
    const storeFile = resolve(args.store ?? usualStore())
    const common = { storeFile, models, pace, user: userNameOf({}), signal: interrupted() }
    if (output.isInteractive) {
      await runDemo({ ...common, port, isFresh: args.fresh === true })
    } else await playStory({ ...common, output })
    return exitCodes.ok
  },
})

/** Where the other commands look by themselves; beside it in a project, whose own agents may have the same names. */
function usualStore(): string {
  return findConfig(process.cwd()) === null ? '.perdure/perdure.db' : '.perdure/demo.db'
}

type StoryOptions = {
  readonly storeFile: string
  readonly models: DemoModels
  readonly pace: number
  readonly user: string
  readonly signal: AbortSignal
  readonly output: Pick<Output, 'isJson' | 'colours' | 'result'>
}

/** What the demo shows when nobody sits at a terminal: a real kill in mid-tool, and an answer given while nothing ran. */
async function playStory(options: StoryOptions): Promise<void> {
  const { output, models, user } = options
  const screen = new Screen(output.isJson ? { write: () => true } : process.stdout, output.colours)
  const tell = (text: string): void => screen.print(line(), line(styled('bold', `# ${text}`)))
  const id = `story-${uuidV7().slice(-8)}`
  // Of its own, so that nobody else works on it: who is killed must be whoever was at work.
  const agentName = `support-of-${id}`
  const stage: Stage = { ...options, id, agentName, logger: screenLogger(screen), screen }
  const transcript = new Transcript(screen, { agent: 'support', who: user })

  screen.print(line(`A story that plays by itself, because this is no terminal. The model is ${models.label}.`))
  tell('A process is asked for a report.')
  const killed = await onStage({ ...stage, work: false }, transcript, (chat) => killInMidTool(chat, stage))
  screen.print(line(styled('red', `  kill -9 ${killed.pid}`)))
  tell('It is gone in the middle of its work. Another process goes on with the same file.')
  const pending = await onStage(stage, transcript, async (chat) => {
    await chat.untilRest(killed.turnId)
    const { view } = await chat.say('Please refund order 1234.')
    return view.pending
  })
  tell('That runtime is closed. Nothing runs now, and somebody approves from elsewhere.')
  await approveElsewhere(pending, stage)
  tell('A runtime comes back and finds the answer.')
  const payments = await onStage(stage, transcript, async (chat, demo) => {
    await chat.until(({ state }) => state === 'idle')
    return paymentsFor(pending, demo)
  })
  tell(`The ledger has ${payments.length} payment for this refund.`)
  screen.print(
    line(
      styled(
        'dim',
        `The log: ${perdureCommand()} show ${id}${storeOption(options.storeFile)}. In a terminal, the part is yours.`,
      ),
    ),
  )
  screen.end()
  output.result({ conversation: id, killed: killed.pid, payments }, () => [])
}

type Stage = StoryOptions & {
  readonly id: string
  readonly agentName: string
  readonly logger: Logger
  readonly screen: Screen
  readonly work?: boolean
}

/** A life of the process: a runtime on the store, and a chat that goes on where the last one stopped. */
async function onStage<T>(
  stage: Stage,
  transcript: Transcript,
  act: (chat: PlainChat, demo: Demo) => Promise<T>,
): Promise<T> {
  const demo = await openDemo(stage)
  const chat = new PlainChat(chatPort(clientIn(demo, stage), stage.id, stage.agentName), stage.screen, transcript)
  const end = (): void => void chat.end()
  stage.signal.addEventListener('abort', end, { once: true })
  try {
    if (stage.signal.aborted) throw new Interrupted()
    return await act(chat, demo)
  } finally {
    stage.signal.removeEventListener('abort', end)
    await chat.end()
    await demo.close()
  }
}

async function approveElsewhere(pending: readonly PendingItem[], stage: Stage): Promise<void> {
  const elsewhere = await openDemo({ ...stage, user: 'a manager', work: false })
  for (const item of pending) await elsewhere.verbs.conversation(stage.id).approve(item)
  await elsewhere.close()
}

function paymentsFor(pending: readonly PendingItem[], { ledgerFile }: Demo): LedgerLine[] {
  return readLedger(ledgerFile).filter(({ callId }) => pending.some((item) => item.callId === callId))
}
