import { atTerminal } from '../chat/at-terminal.ts'
import { chatPort } from '../chat/chat-port.ts'
import { ChatSession } from '../chat/chat-session.ts'
import { line, styled } from '../chat/line.ts'
import { Screen } from '../chat/screen.ts'
import { screenLogger } from '../chat/screen-logger.ts'
import { coloursOf, wantsColours } from '../terminal/colours.ts'
import { demoHelp, demoIntroduction, goodbye } from './demo-lines.ts'
import type { DemoModels } from './demo-models.ts'
import { type Demo, openDemo } from './open-demo.ts'
import { serveNearby } from './serve-nearby.ts'

export type RunDemoOptions = {
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
export async function runDemo(options: RunDemoOptions): Promise<void> {
  const { storeFile, models, user, signal } = options
  const screen = new Screen(process.stdout, coloursOf(wantsColours(process.stdout, process.env)))
  const demo = await openDemo({ ...options, agentName, logger: screenLogger(screen) })
  try {
    if (options.isFresh) await forget(demo)
    const server = await serveNearby(demo, options)
    try {
      const hasBegun = (await demo.verbs.inspect(demoConversation).record()) !== null
      screen.print(...demoIntroduction({ storeFile, models, url: server.url, pid: process.pid, hasBegun }))
      const port = chatPort(demo.target, demoConversation, agentName)
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

async function forget({ verbs }: Demo): Promise<void> {
  await verbs.conversation(demoConversation).delete()
  for (const { id } of await verbs.conversations({ agent: 'flow:return', limit: 1_000 }))
    await verbs.flow('return', id).delete()
}
