import { currentBuild } from '../base/current-build.ts'
import { DefinitionError } from '../base/errors/definition-errors.ts'
import { readOptions } from '../base/errors/read-options.ts'
import { consoleLogger } from '../base/logger.ts'
import type { Agent } from '../define/agent.ts'
import { checkDuration } from '../store/checks.ts'
import type { Runtime } from './runtime.ts'

/** What `holdRuntime` takes. */
export type HoldOptions = {
  /** Tells several runtimes of one process apart. Default: 'default'. */
  readonly name?: string
  /** How long a runtime that is replaced may finish what it runs. Default: 2,000. */
  readonly drainMs?: number
}

/** What the factory of `holdRuntime` is given. */
export type HoldContext = {
  /** Called after the runtime was closed, the last one first: for its store, which outlives a runtime. */
  readonly onClose: (close: () => unknown) => void
}

/** The runtime of this process, however often the module that defines it is loaded. */
export type HeldRuntime<Agents extends readonly Agent[] = readonly Agent[]> = {
  /**
   * The runtime, created on first use. After a hot reload: the runtime of the newest code, once the previous one has released its work. Call this for each
   * request instead of keeping the result. Rejects with what the factory throws, and the next call tries again.
   */
  get(): Promise<Runtime<Agents>>
  /** Creates the runtime now, so that due work continues before the first request. Does nothing during a build. */
  start(): Promise<void>
  /** Closes the runtime and then what `onClose` was given. The next `get` creates another. */
  close(options?: { readonly drainMs?: number }): Promise<void>
}

type Factory<Agents extends readonly Agent[]> = (context: HoldContext) => Runtime<Agents> | Promise<Runtime<Agents>>

/**
 * Registers how to create the runtime of this process, for frameworks that load a module several times: for each bundle, for each hot reload, during the build.
 * Creates nothing itself; see `get` and `start`. In production (`NODE_ENV`) the first registration of a name stays, because the others are the same code in other
 * bundles. Elsewhere the newest replaces the one before.
 */
export function holdRuntime<const Agents extends readonly Agent[]>(
  factory: Factory<Agents>,
  options?: HoldOptions,
): HeldRuntime<Readonly<Agents>> {
  if (typeof factory !== 'function') {
    throw new DefinitionError('holdRuntime', [
      'the first argument must be a function, as in () => createRuntime({ ... })',
    ])
  }
  const { name = 'default', drainMs = 2_000 } = readOptions('options', options, ['name', 'drainMs'])
  if (typeof name !== 'string' || name === '') throw new DefinitionError('holdRuntime', ["'name' must be a text"])
  checkDuration('drainMs', drainMs, 0)
  const slot = slotOf(name)
  const isReplaced = globalThis.process?.env?.['NODE_ENV'] !== 'production'
  if (isReplaced || !slot.isRegistered)
    slot.register({ create: factory as unknown as Factory<readonly Agent[]>, drainMs })
  return {
    get: () => slot.get() as unknown as Promise<Runtime<Readonly<Agents>>>,
    start: () => slot.start(),
    close: (given) => slot.close(given),
  }
}

type Registration = { readonly create: Factory<readonly Agent[]>; readonly drainMs: number }

type Created = { readonly runtime: Runtime; close(drainMs: number): Promise<void> }

/** Copies of this package in one process share it, also of other versions: a change of what `holdRuntime` uses of a slot needs another key. */
const slotsKey = Symbol.for('perdure.heldRuntimes.1')

function slotOf(name: string): RuntimeSlot {
  const shared = globalThis as { [slotsKey]?: Map<string, RuntimeSlot> }
  const slots = (shared[slotsKey] ??= new Map())
  const slot = slots.get(name) ?? new RuntimeSlot()
  slots.set(name, slot)
  return slot
}

/** The place of one runtime. At most one is alive: the next is created when the one before has closed. */
class RuntimeSlot implements HeldRuntime {
  #registration: Registration | null = null
  /** Asked for, and not closed since. Stays so while the newest code cannot be created. */
  #isInUse = false
  #current: Promise<Created> | null = null
  /** Resolves when every replaced or closed runtime has released its work. Never rejects. */
  #letGo: Promise<void> = Promise.resolve()

  get isRegistered(): boolean {
    return this.#registration !== null
  }

  /** If a runtime worked before, the new code's runtime continues the work. */
  register(registration: Registration): void {
    void this.#retire(registration.drainMs)
    this.#registration = registration
    if (this.#isInUse)
      this.get().catch((error: unknown) =>
        consoleLogger.error('the runtime of the new code cannot be created', { error }),
      )
  }

  async get(): Promise<Runtime> {
    this.#isInUse = true
    for (;;) {
      const asked = (this.#current ??= this.#createNext())
      const { runtime } = await asked
      // Another call has replaced it. After `close`, callers get the closed runtime, whose verbs say so.
      if (this.#current === asked || this.#current === null) return runtime
    }
  }

  async start(): Promise<void> {
    if (currentBuild() === null) await this.get()
  }

  async close(options?: { readonly drainMs?: number }): Promise<void> {
    const { drainMs = this.#registration?.drainMs ?? 0 } = readOptions('options', options, ['drainMs'])
    checkDuration('drainMs', drainMs, 0)
    this.#isInUse = false
    await this.#retire(drainMs)
  }

  #createNext(): Promise<Created> {
    const { create } = this.#registration!
    const creating = this.#letGo.then(() => createWith(create))
    creating.catch(() => {
      if (this.#current === creating) this.#current = null
    })
    return creating
  }

  #retire(drainMs: number): Promise<void> {
    const retired = this.#current
    this.#current = null
    // A factory that threw has left nothing to close.
    if (retired) {
      const closing = (): Promise<void> => retired.then((created) => created.close(drainMs)).catch(() => {})
      this.#letGo = this.#letGo.then(() => toldWhenLate(closing(), drainMs))
    }
    return this.#letGo
  }
}

/** How long after `drainMs` something must be wrong. */
const patienceMs = 10_000

/** The next runtime waits for this one, however long it takes, so a function of `onClose` that never ends would stop everything without a word. */
async function toldWhenLate(closing: Promise<void>, drainMs: number): Promise<void> {
  const timer = setTimeout(() => {
    consoleLogger.warn(
      `a held runtime has not closed after ${drainMs + patienceMs} ms, and the next one waits for it; look at what 'onClose' was given`,
    )
  }, drainMs + patienceMs)
  timer.unref?.()
  await closing
  clearTimeout(timer)
}

async function createWith(create: Factory<readonly Agent[]>): Promise<Created> {
  const closers: (() => unknown)[] = []
  const closeRest = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) {
      try {
        await close()
      } catch (error) {
        consoleLogger.error('what belongs to a held runtime cannot be closed', { error })
      }
    }
  }
  try {
    const runtime = await create({ onClose: (close) => void closers.push(close) })
    if (typeof Object(runtime).close !== 'function') {
      throw new DefinitionError('holdRuntime', ['the function must return what createRuntime returns'])
    }
    return {
      runtime,
      async close(drainMs) {
        await runtime
          .close({ drainMs })
          .catch((error: unknown) => consoleLogger.error('a held runtime cannot be closed', { error }))
        await closeRest()
      },
    }
  } catch (error) {
    await closeRest()
    throw error
  }
}
