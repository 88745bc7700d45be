import { execFile } from 'node:child_process'
import { describe, expect, test } from 'vitest'

/** What every program begins with. A process that has nothing to do but to wait for what hangs must live until its timeout. */
const begin = `
  import { createRuntime, defineAgent, defineFlow, defineTool, memoryStore, postHook, preHook, silentLogger } from '${source('src/index.ts')}'
  import { scriptedModel } from '${source('src/testing/index.ts')}'
  const hang = () => new Promise(() => {})
  const calls = { calls: [{ tool: 'dig', args: {} }] }
  const dig = (attributes) => defineTool({ name: 'dig', description: 'Dig', input: { type: 'object' }, run: hang, ...attributes })
  function start({ store = memoryStore(), flows = [], persistence, work = true, ...attributes } = {}) {
    const agent = defineAgent({ name: 'helper', model: scriptedModel(() => 'Hello.'), ...attributes })
    const kept = persistence ? { persistence: { persistState: () => {}, loadState: () => null, ...persistence } } : {}
    const runtime = createRuntime({ agents: [agent], flows, store, logger: silentLogger, persistTimeoutMs: 50, work, ...kept })
    return { runtime, chat: runtime.conversation('c1', { agent: 'helper' }) }
  }
  const endOf = async (chat) => {
    const { status, reason } = await (await chat.send('Hi')).outcome()
    return [status, reason].join(' ')
  }
`

/** What a program awaits, how it goes about it, and what it must print before it ends. */
const programs: readonly (readonly [string, string, string | RegExp])[] = [
  [
    'a loadState that hangs, in send',
    `const { chat } = start({ persistence: { loadState: hang } })
     await chat.send('Hi').catch((error) => console.log(error.code, error.retryable))
     console.log((await chat.events()).length)`,
    'snapshot_load_failed true\n0',
  ],
  [
    'a persistState that hangs, at the end of a turn',
    `const { chat } = start({ persistence: { persistState: hang } })
     console.log(await endOf(chat))`,
    'completed',
  ],
  [
    'a persistState that hangs, in close',
    `const { runtime, chat } = start({ persistence: { persistState: (scope, state, { lifecycle }) => lifecycle === 'on_shutdown' ? hang() : null } })
     await endOf(chat)
     await runtime.close()
     console.log('closed')`,
    'closed',
  ],
  [
    'a persistState that hangs, in detach',
    `const { chat } = start({ persistence: { persistState: (scope, state, { lifecycle }) => lifecycle === 'on_shutdown' ? hang() : null } })
     await endOf(chat)
     await chat.detach()
     console.log('detached')`,
    'detached',
  ],
  [
    'a hook that hangs before the model',
    `const { chat } = start({ hooks: [preHook('memory', hang)], hookTimeoutMs: 50 })
     console.log(await endOf(chat))`,
    /^failed hook_failed: .*took longer than 50 ms/,
  ],
  [
    'a parallel hook that hangs',
    `const { chat } = start({ hooks: [preHook('memory', hang, { mode: 'parallel' })], hookTimeoutMs: 50 })
     console.log(await endOf(chat))`,
    'completed',
  ],
  [
    'a hook that hangs after the model',
    `const { chat } = start({ hooks: [postHook('guard', hang)], hookTimeoutMs: 50 })
     console.log(await endOf(chat))`,
    /^failed hook_failed: .*took longer than 50 ms/,
  ],
  [
    'a tool that hangs past its time',
    `const { chat } = start({ tools: [dig({ timeoutMs: 50 })], model: scriptedModel([calls, 'Done.']) })
     console.log(await endOf(chat))`,
    'completed',
  ],
  [
    'a model call that is tried again',
    `const { chat } = start({ model: scriptedModel([{ error: { status: 503 } }, 'Done.']), retry: { maxAttempts: 2, baseMs: 50, maxMs: 50 } })
     console.log(await endOf(chat))`,
    'completed',
  ],
  [
    'a close that waits for a tool that hangs',
    `const { runtime, chat } = start({ tools: [dig()], model: scriptedModel([calls]) })
     await chat.send('Hi')
     while (!(await chat.events()).some(({ type }) => type === 'tool_started')) await new Promise((resolve) => setImmediate(resolve))
     await runtime.close({ drainMs: 50 })
     console.log((await runtime.conversation('c1').events()).at(-1).type)`,
    'tool_result',
  ],
  [
    'a turn that no process here works on, until a signal',
    `const { chat } = start({ work: false })
     await chat.send('Hi')
     await chat.cancel({ signal: AbortSignal.timeout(50) }).catch((error) => console.log(error.name))`,
    'TimeoutError',
  ],
  [
    'what is watched, until a signal',
    `const { chat } = start({ work: false })
     await chat.send('Hi')
     for await (const event of chat.watch({ signal: AbortSignal.timeout(50) })) console.log(event.type)`,
    'snapshot',
  ],
  [
    'whether the store answers',
    `const store = memoryStore()
     const { runtime } = start({ store: { ...store, getConversation: hang }, work: false })
     console.log((await runtime.readiness()).store)`,
    'silent',
  ],
  [
    'a session that sleeps',
    `const flows = [defineFlow({ name: 'nap', version: 1, run: async (flow) => { await flow.sleep(50); return 'rested' } })]
     const { runtime } = start({ flows })
     await runtime.flow('nap', 's1').start(null)
     console.log((await runtime.flow('nap', 's1').outcome()).result)`,
    'rested',
  ],
  [
    'a session without an owner here, until a signal',
    `const flows = [defineFlow({ name: 'nap', version: 1, run: async () => 'rested' })]
     const { runtime } = start({ flows, work: false })
     await runtime.flow('nap', 's1').start(null)
     await runtime.flow('nap', 's1').outcome({ signal: AbortSignal.timeout(50) }).catch((error) => console.log(error.name))`,
    'TimeoutError',
  ],
]

describe('a process with nothing else to do lives for what it awaits', () => {
  test.concurrent.each(programs)('%s', async (_, program, printed) => {
    const { code, stdout, stderr } = await run(begin + program)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    if (typeof printed === 'string') expect(stdout.trim()).toBe(printed)
    else expect(stdout.trim()).toMatch(printed)
  })
})

function run(program: string): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const options = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program]
    const child = execFile(process.execPath, options, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    )
  })
}

function source(path: string): string {
  return new URL(`../../${path}`, import.meta.url).href
}
