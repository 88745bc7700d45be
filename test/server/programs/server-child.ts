import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { z } from 'zod'
import { silentLogger } from '../../../src/base/logger.ts'
import { defineAgent } from '../../../src/define/define-agent.ts'
import { defineTool } from '../../../src/define/define-tool.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { serve } from '../../../src/server/index.ts'
import { sqliteStore } from '../../../src/store/sqlite/index.ts'
import { childInput, dieWithParent, onParentLine, say } from '../../faults/harness/child-channel.ts'

export type ServerInput = {
  readonly path: string
  readonly port: number
  /** Of each message. */
  readonly deltas: number
  /** What each message says instead, at once. Default, where an object is asked for: a text that patterns backtrack on. */
  readonly answer?: string
  /** What `publish` sends in all, and in each piece. */
  readonly publish?: { readonly bytes: number; readonly pieceBytes: number }
}

export type ServerMessage =
  | { readonly type: 'ready'; readonly url: string; readonly port: number }
  | ({ readonly type: 'state' } & ServerState)

export type ServerState = {
  readonly rss: number
  readonly clients: number
  /** The longest that it was busy since the last request. */
  readonly deafMs: number
  /** and the longest of that in which it had the processor: the rest is other programs, and the disk. */
  readonly busyMs: number
}

const { path, port, deltas, answer, publish } = childInput<ServerInput>()
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

/** Writes words as models do: a few at a time, with the process free in between. */
const model: LanguageModelV4 = {
  specificationVersion: 'v4',
  provider: 'test',
  modelId: 'wordy',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('only streams')),
  async doStream({ prompt, responseFormat }) {
    if (publish && prompt.at(-1)?.role !== 'tool') return { stream: callOf('publish') }
    const object = responseFormat?.type === 'json' ? JSON.stringify(`${'a'.repeat(50)}!`) : undefined
    const text = answer ?? object
    if (text !== undefined) return { stream: streamOf(text) }
    let n = 0
    const stream = new ReadableStream<LanguageModelV4StreamPart>({
      async pull(controller) {
        if (n % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
        n += 1
        if (n <= deltas) controller.enqueue({ type: 'text-delta', id: 't', delta: `w${n} ` })
        else {
          controller.enqueue({ type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage })
          controller.close()
        }
      },
    })
    return { stream }
  },
}

function streamOf(text: string): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue({ type: 'text-delta', id: 't', delta: text })
      controller.enqueue({ type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage })
      controller.close()
    },
  })
}

function callOf(tool: string): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue({ type: 'tool-call', toolCallId: 'p', toolName: tool, input: '{}' })
      controller.enqueue({ type: 'finish', finishReason: { unified: 'tool-calls', raw: 'tool-calls' }, usage })
      controller.close()
    },
  })
}

/** Much that is live and not kept: each piece says when it was sent. */
const publishTool = defineTool({
  name: 'publish',
  description: 'Publish',
  input: z.object({}),
  async run(_, turn) {
    const { bytes = 0, pieceBytes = 1 } = publish ?? {}
    const filling = 'x'.repeat(pieceBytes)
    for (let sent = 0; sent < bytes; sent += pieceBytes) {
      turn.reportProgress({ at: Date.now(), filling })
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    return 'done'
  },
})

/** Half of those that ask for what is for operators are. */
function isAnOperator(request: Request): boolean {
  return request.headers.get('x-operator') === 'yes'
}

dieWithParent()
const store = sqliteStore({ path, logger: silentLogger })
const runtime = createRuntime({
  agents: [defineAgent({ name: 'helper', model, tools: [publishTool] })],
  store,
  logger: silentLogger,
  leaseMs: 500,
  pollMs: 50,
})
const server = await serve(runtime, {
  callerSchemas: true,
  port,
  logger: silentLogger,
  upkeep: { store, isOperator: isAnOperator },
})
const longest = { deafMs: 0, busyMs: 0 }
let last = { wall: performance.now(), cpu: process.threadCpuUsage() }
setInterval(() => {
  const now = { wall: performance.now(), cpu: process.threadCpuUsage() }
  const used = now.cpu.user - last.cpu.user + now.cpu.system - last.cpu.system
  longest.deafMs = Math.max(longest.deafMs, Math.round(now.wall - last.wall))
  longest.busyMs = Math.max(longest.busyMs, Math.round(used / 1000))
  last = now
}, 5)
onParentLine((line) => {
  if (line !== 'state') return
  const { clients } = server.streams()
  say<ServerMessage>({ type: 'state', rss: process.memoryUsage.rss(), clients, ...longest })
  longest.deafMs = longest.busyMs = 0
})
say<ServerMessage>({ type: 'ready', url: server.url, port: server.port })
