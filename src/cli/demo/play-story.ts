import type { Logger } from '../../base/logger.ts'
import { uuidV7 } from '../../base/uuid-v7.ts'
import type { PendingItem } from '../../view/view.ts'
import { chatPort } from '../chat/chat-port.ts'
import { line, styled } from '../chat/line.ts'
import { PlainChat } from '../chat/plain-chat.ts'
import { Screen } from '../chat/screen.ts'
import { screenLogger } from '../chat/screen-logger.ts'
import { Transcript } from '../chat/transcript.ts'
import { Interrupted } from '../interrupt.ts'
import type { Output } from '../output.ts'
import { perdureCommand } from '../perdure-command.ts'
import { storeOption } from './demo-lines.ts'
import type { DemoModels } from './demo-models.ts'
import { killInMidTool } from './kill-in-mid-tool.ts'
import { type LedgerLine, readLedger } from './ledger.ts'
import { type Demo, openDemo } from './open-demo.ts'

export type StoryOptions = {
  readonly storeFile: string
  readonly models: DemoModels
  readonly pace: number
  readonly user: string
  readonly signal: AbortSignal
  readonly output: Pick<Output, 'isJson' | 'colours' | 'result'>
}

/** What the demo shows when nobody sits at a terminal: a real kill in mid-tool, and an answer given while nothing ran. */
export async function playStory(options: StoryOptions): Promise<void> {
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
  const chat = new PlainChat(chatPort(demo.target, stage.id, stage.agentName), stage.screen, transcript)
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
  for (const item of pending) await elsewhere.target.conversation(stage.id).approve(item)
  await elsewhere.close()
}

function paymentsFor(pending: readonly PendingItem[], { ledgerFile }: Demo): LedgerLine[] {
  return readLedger(ledgerFile).filter(({ callId }) => pending.some((item) => item.callId === callId))
}
