import { type Profiler, Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { createRuntime, createScope, defineAgent, memoryStore, silentLogger } from '../../src/index.ts'
import { createHandler } from '../../src/server/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { isTest } from './source-files.ts'

/**
 * The source files that run while the first message of a conversation is sent and answered, in the process and over HTTP. A file counts when at least one of its functions
 * is called in that time; that it was loaded, or was used to build the runtime, does not count. The runtime is new, its store is in memory, the agent has neither
 * tools nor hooks, and the model answers with one word. Over HTTP, the handler gets the two requests that a client makes.
 */
export async function executedByTurns(root: string): Promise<{ inProcess: string[]; overHttp: string[] }> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  try {
    return {
      inProcess: await within(turnInProcess),
      overHttp: await within(turnOverHttp),
    }
  } finally {
    session.disconnect()
  }

  async function within(prepare: () => Promise<Prepared>): Promise<string[]> {
    const { turn, close } = await prepare()
    // Each answer counts from the one before.
    await session.post('Profiler.takePreciseCoverage')
    await turn()
    // The lease is let go of after the outcome is told.
    await pause(50)
    const { result } = await session.post('Profiler.takePreciseCoverage')
    await close()
    return executedFiles(result, root)
  }
}

/** The files of `src` with a function that was called. The function around a whole module, which runs when it is loaded, is not one. */
export function executedFiles(coverage: readonly Profiler.ScriptCoverage[], root: string): string[] {
  const base = `${pathToFileURL(root).href}/`
  return coverage
    .filter(({ url, functions }) => url.startsWith(`${base}src/`) && functions.some(isCalled))
    .map(({ url }) => decodeURI(url.slice(base.length)))
    .filter((path) => !isTest(path) && !path.startsWith(join('src', 'testing/')))
    .toSorted()
}

function isCalled({ functionName, ranges }: Profiler.FunctionCoverage): boolean {
  const [whole] = ranges
  const isModule = functionName === '' && whole?.startOffset === 0
  return !isModule && whole !== undefined && whole.count > 0
}

type Prepared = { readonly turn: () => Promise<void>; readonly close: () => Promise<void> }

function newRuntime() {
  const greeter = defineAgent({ name: 'greeter', model: scriptedModel(['hello']), instructions: 'Greet.' })
  return createRuntime({ agents: [greeter], store: memoryStore(), logger: silentLogger })
}

async function turnInProcess(): Promise<Prepared> {
  const runtime = newRuntime()
  return {
    turn: async () => {
      const { status } = await (await runtime.conversation('c1', { agent: 'greeter' }).send('hi')).outcome()
      expectCompleted(status)
    },
    close: () => runtime.close(),
  }
}

async function turnOverHttp(): Promise<Prepared> {
  const runtime = newRuntime()
  const authenticate = () => createScope({ tenant: 'default', user: 'ada' })
  const handler = createHandler(runtime, { authenticate, logger: silentLogger })
  const ask = async (path: string, body?: unknown): Promise<Record<string, unknown>> => {
    const headers = { 'content-type': 'application/json' }
    const posted = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await handler(new Request(`http://localhost/conversations/c1${path}`, posted))
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}: ${await response.text()}`)
    return (await response.json()) as Record<string, unknown>
  }
  // Loads what the handler loads with its first request.
  await handler(new Request('http://localhost/health'))
  return {
    turn: async () => {
      const { turnId } = await ask('/messages', { agent: 'greeter', message: 'hi' })
      expectCompleted((await ask(`/turns/${turnId}/outcome`))['status'])
    },
    close: async () => {
      handler.close()
      await runtime.close()
    },
  }
}

function expectCompleted(status: unknown): void {
  if (status !== 'completed') throw new Error(`The turn that is measured ended as ${String(status)}`)
}
