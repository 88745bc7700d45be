import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Answer, type ProtocolName, protocols } from './protocols.ts'

/** Faults in the middle of a stream, at a position: after that many frames. */
export const streamFaults = ['stall', 'reset', 'truncate', 'half_frame', 'error_frame', 'garbage'] as const

/** Faults instead of a stream. */
export const requestFaults = ['status_500', 'status_429', 'status_529', 'silent', 'empty', 'dropped'] as const

export type FaultName = (typeof streamFaults)[number] | (typeof requestFaults)[number]

/** What goes wrong in one case, and with which of its requests. */
export type FaultPlan = {
  readonly protocol: ProtocolName
  /** 0: the answer with the call. 1: the answer after its result. */
  readonly step: 0 | 1
  readonly fault: FaultName | null
  readonly position: number
  /** How many attempts meet the fault. */
  readonly times: number
  readonly finish: Answer['finish']
  /** A model of the other protocol, which never fails, is there for when this one has. */
  readonly hasFallback: boolean
}

export type FakeProvider = {
  readonly url: string
  /** Begins a case. Its requests go to `/<name>/...`, and those to the fallback model to `/<name>/fallback/...`. */
  plan(name: string, plan: FaultPlan): void
  /** How many requests a case has made, by step, with those to the fallback model. */
  requests(name: string): readonly [number, number]
  fallbacks(name: string): readonly [number, number]
  close(): Promise<void>
}

type Case = {
  readonly plan: FaultPlan
  readonly requests: [number, number]
  readonly fallbacks: [number, number]
}

/** A provider over HTTP on this machine, which speaks two protocols and fails as planned. */
export async function startFakeProvider(): Promise<FakeProvider> {
  const cases = new Map<string, Case>()
  const server = createServer((request, response) => {
    answer(cases, request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  server.keepAliveTimeout = 1_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    plan: (name, plan) => void cases.set(name, { plan, requests: [0, 0], fallbacks: [0, 0] }),
    requests: (name) => cases.get(name)!.requests,
    fallbacks: (name) => cases.get(name)!.fallbacks,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function answer(
  cases: ReadonlyMap<string, Case>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [, name = '', rest] = (request.url ?? '').split('/')
  const { plan, requests, fallbacks } = cases.get(name)!
  const isFallback = rest === 'fallback'
  const speaking = protocols[isFallback ? otherThan(plan.protocol) : plan.protocol]
  const body = (await request.toArray()).join('')
  const step = speaking.hasResult(body) ? 1 : 0
  const attempt = ++requests[step]
  if (isFallback) fallbacks[step] += 1
  const isFaulty = !isFallback && plan.fault !== null && step === plan.step && attempt <= plan.times
  const frames = speaking.frames(answerOf(step, attempt, plan)).map(({ text }) => text)
  if (!isFaulty) return stream(response, frames, () => response.end())
  const { fault, position, protocol } = plan
  const { errorFrame, errorBody } = protocols[protocol]
  const before = frames.slice(0, position)
  switch (fault) {
    case 'stall':
      return stream(response, before, () => {})
    case 'reset':
      return stream(response, before, () => response.socket?.resetAndDestroy())
    case 'truncate':
      return stream(response, before, () => response.end())
    case 'half_frame': {
      const next = frames[position] ?? ''
      return stream(response, [...before, next.slice(0, next.length / 2)], () => response.end())
    }
    case 'error_frame':
      return stream(response, [...before, errorFrame], () => response.end())
    case 'garbage':
      return stream(response, [...before, 'data: {"choices": [{"de\n\n', ...frames.slice(position)], () =>
        response.end(),
      )
    case 'status_500':
    case 'status_429':
    case 'status_529': {
      const status = Number(fault.slice(-3))
      const headers = { 'content-type': 'application/json', ...(status === 429 ? { 'retry-after-ms': '1' } : {}) }
      response.writeHead(status, headers).end(errorBody(status))
      return
    }
    case 'empty':
      return stream(response, [], () => response.end())
    case 'dropped':
      request.socket.destroy()
      return
    case 'silent':
    case null:
      return
  }
}

/** The protocol of the fallback model. */
export function otherThan(protocol: ProtocolName): ProtocolName {
  return protocol === 'openai' ? 'anthropic' : 'openai'
}

/** What every attempt says is marked with its number, so that a log shows which of them it has. */
export function markOf(step: number, attempt: number): string {
  return `[step ${step}, try ${attempt}]`
}

function answerOf(step: 0 | 1, attempt: number, { finish, step: planned }: FaultPlan): Answer {
  const mark = markOf(step, attempt)
  return {
    reasoning: `${mark} Think first.`,
    texts: [`${mark} `, step === 0 ? 'I will ' : 'It is ', step === 0 ? 'pay.' : 'paid.'],
    call: step === 0 ? { id: `provider-call-${attempt}`, name: 'pay', pieces: ['{"ce', 'nts"', ':500}'] } : null,
    finish: step === planned && step === 1 ? finish : 'done',
  }
}

/** Each frame on its own, so that a client reads what came before the fault. */
async function stream(response: ServerResponse, frames: readonly string[], end: () => void): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  for (const frame of frames) {
    response.write(frame)
    await new Promise((resolve) => setImmediate(resolve))
  }
  // A reset drops what the kernel has not sent yet.
  await new Promise((resolve) => setTimeout(resolve, 2))
  end()
}
