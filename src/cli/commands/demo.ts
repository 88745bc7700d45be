import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onAbort } from '../../base/abort.ts'
import { type Logger, silentLogger } from '../../base/logger.ts'
import { uuidV7 } from '../../base/uuid-v7.ts'
import { createClient } from '../../client/create-client.ts'
import { createScope, type Scope } from '../../define/scope.ts'
import { callPhase } from '../../log/call-phase.ts'
import { findTurn } from '../../log/state.ts'
import { readLocalAccess } from '../../server/node/local-token.ts'
import { type Server, serve } from '../../server/serve.ts'
import type { PendingItem } from '../../view/view.ts'
import { chatPort } from '../chat/chat-port.ts'
import { atTerminal, ChatSession } from '../chat/chat-session.ts'
import { PlainChat } from '../chat/plain-chat.ts'
import { Screen, screenLogger } from '../chat/screen.ts'
import { command, countOf, exitCodes, Interrupted } from '../command.ts'
import { type DemoModels, demoModels } from '../demo/demo-models.ts'
import { type FillOptions, fillShowcase, showcaseIds } from '../demo/fill-showcase.ts'
import { type Demo, openDemo } from '../demo/open-demo.ts'
import { type LedgerLine, readLedger } from '../demo/support-tools.ts'
import { findConfig } from '../load-config.ts'
import type { Output } from '../output.ts'
import { prepareStudio, studioAddress } from '../studio/prepare-studio.ts'
import { clientOf } from '../target/store-target.ts'
import { userNameOf } from '../target/target-args.ts'
import { type Colours, coloursOf, joined, type SafeText, safe, wantsColours } from '../terminal/text.ts'
import { isFromSource, perdureCommand } from '../transcript/command-line.ts'
import { Transcript } from '../transcript/transcript.ts'

export const demo = command({
  about:
    'A support agent on a real SQLite file, with a server beside it. Kill it in mid-turn and start it again. Without a terminal it plays a story by itself.',
  args: {
    store: {
      type: 'string',
      valueHint: 'path',
      description: 'The SQLite file; default: .perdure/perdure.db, or demo.db in a project',
    },
    port: { type: 'string', description: 'Of the server; default: 4111, or a free one if that is taken' },
    offline: { type: 'boolean', description: 'Use the scripted model even if there is a key for a real one' },
    fresh: { type: 'boolean', description: 'Delete the conversations of earlier runs first' },
    empty: { type: 'boolean', description: 'Without the example conversations for the studio' },
  },
  examples: [
    ['demo', 'talk to it; kill it; start it again'],
    ['demo --fresh --offline', 'from the beginning, without a real model'],
    ['demo | cat', 'the story, to read along'],
  ],
  run: async ({ args, output, interrupted }) => {
    const port = countOf('port', args.port, 0, 65_535) ?? 4111
    const pace = Number(process.env['PERDURE_DEMO_PACE'] ?? 1)
    // The story says what happens next, so it cannot use a real model.
    const isOffline = args.offline === true || !output.isInteractive
    const models = await demoModels({ env: process.env, isOffline, pace })
    const storeFile = resolve(args.store ?? usualStore())
    const common = { storeFile, models, pace, user: userNameOf({}), signal: interrupted() }
    if (output.isInteractive) {
      await runDemo({ ...common, port, isFresh: args.fresh === true, isEmpty: args.empty === true })
    } else await playStory({ ...common, output })
    return exitCodes.ok
  },
})

/** The store that other commands find by themselves. In a project, a file beside it: the project's own agents may have the same names. */
function usualStore(): string {
  return findConfig(process.cwd()) === null ? '.perdure/perdure.db' : '.perdure/demo.db'
}

type RunDemoOptions = {
  readonly storeFile: string
  readonly models: DemoModels
  readonly pace: number
  readonly port: number
  readonly user: string
  readonly isFresh: boolean
  readonly isEmpty: boolean
  readonly signal: AbortSignal
}

const demoConversation = 'demo'
const agentName = 'support'

/** The demo at a terminal: a chat with the support agent, and a server beside it. */
async function runDemo(options: RunDemoOptions): Promise<void> {
  const { storeFile, models, user, signal } = options
  const colours = coloursOf(wantsColours(process.stdout, process.env))
  const screen = new Screen(process.stdout, colours)
  const logger = screenLogger(screen)
  const demo = await openDemo({ ...options, agentName, logger })
  try {
    if (options.isFresh) await forget(demo)
    const server = await serveNearby(demo, options)
    const leaving = new AbortController()
    const filling = options.isEmpty || !server.isOwn ? null : fillBeside(demo, logger, { user, signal: leaving.signal })
    try {
      const hasBegun = (await demo.verbs.inspect(demoConversation).record()) !== null
      screen.print(...introduction({ storeFile, models, address: server.address, hasBegun }, colours))
      const port = chatPort(clientIn(demo, options), demoConversation, { agent: agentName })
      const help = demoHelp(colours)
      const session = new ChatSession(port, screen, { agent: agentName, isOwn: (who) => who === user, help })
      await atTerminal(session, { input: process.stdin, output: process.stdout }, signal)
      if (session.isRunning) screen.print(colours.dim('Finishing the running work, for three seconds at most …'))
      screen.draw()
    } finally {
      leaving.abort()
      await server.close({ drainMs: 0 })
    }
    await filling
  } finally {
    await demo.close()
  }
  screen.print(colours.dim(`The conversation is in the log. Continue with: ${startCommand()}`))
  screen.end()
}

function clientIn({ runtime, store }: Demo, options: { readonly user: string; readonly work?: boolean }) {
  const scope = createScope({ user: options.user }) as Scope
  return clientOf(runtime, { store, scope, logger: silentLogger, work: options.work ?? true })
}

/** Examples for the pages of the studio. The chat neither waits for them nor needs them. */
async function fillBeside({ runtime, showcase }: Demo, logger: Logger, options: FillOptions): Promise<void> {
  try {
    await fillShowcase(runtime, showcase, options)
  } catch (error) {
    if (!options.signal?.aborted) logger.warn('the examples for the studio are not complete', { error })
  }
}

async function forget({ verbs }: Demo): Promise<void> {
  for (const id of [demoConversation, ...showcaseIds]) await verbs.conversation(id).delete()
  for (const { id } of await verbs.conversations({ agent: 'flow:return', limit: 1_000 }))
    await verbs.flow('return', id).delete()
}

type Introduced = Pick<RunDemoOptions, 'storeFile' | 'models'> & {
  readonly address: string
  readonly hasBegun: boolean
}

function introduction({ storeFile, models, address, hasBegun }: Introduced, colours: Colours): SafeText[] {
  const { bold, dim, cyan } = colours
  const row = (name: string, value: string, what: string) =>
    safe`${dim(`  ${name.padEnd(8)}`)}${cyan(value)}${dim(what)}`
  const other = models.isScripted ? ' (or set ANTHROPIC_API_KEY, OPENAI_API_KEY)' : ' (--offline for the script)'
  return [
    safe`${bold('Perdure demo')}: a support agent that survives kill -9`,
    safe``,
    row('model', models.label, other),
    row('log', relative(process.cwd(), storeFile) || storeFile, ' (--fresh deletes it)'),
    address.includes('#') ? row('studio', address, ' (once)') : row('server', address, ''),
    row('kill', `kill -9 ${process.pid}`, ` at any moment, then ${startCommand()}`),
    row('answer', `${perdureCommand()} inbox${storeOption(storeFile)}`, ' from another terminal, running or not'),
    safe``,
    ...demoHelp(colours),
    ...(hasBegun ? [safe``, dim('── the conversation so far ──')] : []),
  ]
}

function demoHelp({ bold, dim }: Colours): SafeText[] {
  const words = (heading: string, ...list: string[]) => safe`${dim(heading)}${joined(list.map(bold), dim(' · ').text)}`
  return [
    words('Type  ', 'refund order 1234', 'report', 'complaint', 'research the switch'),
    words('      ', 'return order 1235', 'the parcel of 1235 arrived', 'tell me a story', '/help'),
  ]
}

/** Empty for the store that commands find by themselves. */
function storeOption(storeFile: string): string {
  const file = relative(process.cwd(), storeFile)
  const isFound = file === join('.perdure', 'perdure.db') && !process.env['PERDURE_STORE']
  return isFound ? '' : ` --store ${file}`
}

function startCommand(): string {
  return isFromSource() ? 'npm start' : 'npx perdure demo'
}

type NearbyOptions = { readonly port: number; readonly storeFile: string; readonly user: string }

type Nearby = Pick<Server, 'close'> & {
  /** The address of the studio, with a code that signs one page in, or of the server if there is no studio. */
  readonly address: string
  readonly isOwn: boolean
}

/** Serves on the usual port, or on a free one if that is taken. If another demo serves this store, its server is used. */
async function serveNearby(
  { runtime, store }: Pick<Demo, 'runtime' | 'store'>,
  { port, storeFile, user }: NearbyOptions,
): Promise<Nearby> {
  const name = basename(storeFile)
  const localTokenFile = join(dirname(storeFile), name === 'perdure.db' ? 'server.json' : `${name}.server.json`)
  const other = await addressOfLiving(localTokenFile)
  if (other !== null) return { address: other, isOwn: false, close: async () => {} }
  const studio = await prepareStudio()
  const options = { localScope: createScope({ user }) as Scope, localTokenFile, upkeep: { store }, studio }
  const server = await serve(runtime, { ...options, port }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error
    return serve(runtime, { ...options, port: 0 })
  })
  return { address: server.studioUrl() ?? server.url, isOwn: true, close: server.close }
}

/** The address in a token file, if its server answers: a killed server leaves its file behind. */
async function addressOfLiving(tokenFile: string): Promise<string | null> {
  try {
    const access = await readLocalAccess(tokenFile)
    const { url, token } = access
    await createClient({ url, token, fetch: impatient }).conversations({ limit: 1 })
    return access.studioUrl === undefined ? url : await studioAddress(access)
  } catch {
    return null
  }
}

const impatient: typeof fetch = (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(1_000) })

type StoryOptions = {
  readonly storeFile: string
  readonly models: DemoModels
  readonly pace: number
  readonly user: string
  readonly signal: AbortSignal
  readonly output: Pick<Output, 'isJson' | 'colours' | 'result'>
}

/** The demo without a terminal: a real kill in mid-tool, and an answer given while nothing runs. */
async function playStory(options: StoryOptions): Promise<void> {
  const { output, models, user } = options
  const screen = new Screen(output.isJson ? { write: () => true } : process.stdout, output.colours)
  const { bold, dim, red } = screen.colours
  const tell = (text: string): void => screen.print('', bold(`# ${text}`))
  const id = `story-${uuidV7().slice(-8)}`
  // A name of its own, so that no other process works on it: the process that is killed must be the one at work.
  const agentName = `support-of-${id}`
  const stage: Stage = { ...options, id, agentName, logger: screenLogger(screen), screen }
  const transcript = new Transcript(screen, { agent: 'support', isOwn: (who) => who === user })

  screen.print(`A story that plays by itself, because this is no terminal. The model is ${models.label}.`)
  tell('A process is asked for a report.')
  const killed = await onStage({ ...stage, work: false }, transcript, (chat) => killInMidTool(chat, stage))
  screen.print(red(`  kill -9 ${killed.pid}`))
  tell('The process died in the middle of its work. Another one continues with the same file.')
  const pending = await onStage(stage, transcript, async (chat) => {
    await chat.untilRest(killed.turnId)
    const { view } = await chat.say('Please refund order 1234.')
    return view.pending
  })
  tell('That runtime is closed. Nothing runs now, and a manager approves from elsewhere.')
  await approveElsewhere(pending, stage)
  tell('A runtime starts again and finds the answer.')
  const payments = await onStage(stage, transcript, async (chat, demo) => {
    await chat.until(({ phase }) => phase === 'idle')
    return paymentsFor(pending, demo)
  })
  tell(`The ledger has ${payments.length} payment for this refund.`)
  const show = `${perdureCommand()} show ${id}${storeOption(options.storeFile)}`
  screen.print(dim(`The log: ${show}. Run it in a terminal to play the customer yourself.`))
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

/** One process life: a runtime on the store, and a chat that continues where the last one stopped. */
async function onStage<T>(
  stage: Stage,
  transcript: Transcript,
  act: (chat: PlainChat, demo: Demo) => Promise<T>,
): Promise<T> {
  const demo = await openDemo(stage)
  const chat = new PlainChat(
    chatPort(clientIn(demo, stage), stage.id, { agent: stage.agentName }),
    stage.screen,
    transcript,
  )
  const ignoreSignal = onAbort(stage.signal, () => void chat.end())
  try {
    if (stage.signal.aborted) throw new Interrupted()
    return await act(chat, demo)
  } finally {
    ignoreSignal()
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

/** Sends a message that a process of its own works on, and kills that process when it has begun with a tool. */
async function killInMidTool(
  chat: PlainChat,
  stage: Stage,
): Promise<{ readonly turnId: string; readonly pid: number }> {
  const worker = startWorker(stage)
  const exited = once(worker, 'exit')
  try {
    const turnId = await chat.send('How were the sales? A report, please.')
    await chat.until(({ log }) => {
      const turn = findTurn(log, turnId)
      return turn !== null && (turn.end !== null || turn.calls.some((call) => callPhase(call).type === 'started'))
    })
    return { turnId, pid: worker.pid ?? 0 }
  } finally {
    worker.kill('SIGKILL')
    await exited
  }
}

function startWorker({ storeFile, agentName }: Stage): ChildProcess {
  // The build puts this function into a chunk, and the worker where its source says.
  const path = isFromSource() ? '../demo/story-worker.ts' : '../cli/demo/story-worker.js'
  const file = fileURLToPath(new URL(path, import.meta.url))
  const args = ['--disable-warning=ExperimentalWarning', file, storeFile, agentName]
  // It ends with its standard input, so it does not outlive this process.
  return spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'inherit'] })
}
