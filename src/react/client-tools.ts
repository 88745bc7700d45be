import { PerdureError } from '../base/errors/perdure-error.ts'
import type { Json } from '../base/json.ts'
import type { RemoteConversation } from '../client/conversation.ts'
import type { Agent, AgentTools } from '../define/agent.ts'
import type { Tool, ToolInput, ToolResultOf } from '../define/tool.ts'
import type { PendingItem } from '../view/view.ts'
import type { ConversationStore } from './conversation-store.ts'
import { newKey, untilAcknowledged } from './until-acknowledged.ts'

/** What the function of a client tool receives besides its arguments. */
export type ClientToolCall = {
  readonly callId: string
  /** Aborts when the call no longer waits: it was answered elsewhere, cancelled, or has expired. */
  readonly signal: AbortSignal
}

/** The function of a client tool. What it returns is the result, what it throws is the error of the call. */
export type ClientTool<Args = Json, Result = unknown> = (args: Args, call: ClientToolCall) => Result | Promise<Result>

/** The client tools of an agent, by name, with the arguments and results of their schemas. */
export type ClientToolsOf<A extends Agent> = string extends AgentTools<A>['name']
  ? { readonly [name: string]: ClientTool }
  : { readonly [T in ClientToolIn<A> as T['name']]?: ClientTool<ToolInput<T>, ToolResultOf<T>> }

type ClientToolIn<A extends Agent> = Extract<AgentTools<A>, Tool & { readonly executor: 'client' }>

type AnyTools = { readonly [name: string]: ((args: never, call: ClientToolCall) => unknown) | undefined }

type Answer = { readonly ok: true; readonly result: unknown } | { readonly ok: false; readonly error: string }
type Saved = { readonly key: string; readonly answer: Answer }

/**
 * Runs the client tools that wait, and answers with what they return.
 * Each call is run once by a page; of several tabs of one browser, by one at a time. A tab that is reloaded sends a result that it has already, and runs a function
 * again that had not ended.
 */
export class ClientTools {
  readonly #store: ConversationStore
  readonly #handle: RemoteConversation
  readonly #tools: () => AnyTools
  readonly #running = new Map<string, AbortController>()

  constructor(store: ConversationStore, handle: RemoteConversation, tools: () => AnyTools) {
    this.#store = store
    this.#handle = handle
    this.#tools = tools
  }

  /** Until the returned function is called. Tools that already run finish and answer. */
  start(): () => void {
    const leave = this.#store.live.subscribe(() => this.#look())
    this.#look()
    return leave
  }

  #look(): void {
    const pending = this.#store.live.value.view?.pending ?? []
    const waiting = new Set(pending.map(nameOf))
    for (const [name, stop] of this.#running) if (!waiting.has(name)) stop.abort()
    const tools = this.#tools()
    for (const item of pending) {
      const name = nameOf(item)
      if (item.kind !== 'client_exec' || !Object.hasOwn(tools, item.tool) || this.#running.has(name)) continue
      const stop = new AbortController()
      this.#running.set(name, stop)
      void alone(name, stop.signal, (hasWaited) => this.#run(item, stop.signal, hasWaited)).finally(() =>
        this.#running.delete(name),
      )
    }
  }

  async #run(item: PendingItem, signal: AbortSignal, hasWaited: boolean): Promise<void> {
    const name = nameOf(item)
    // Another tab had it, and its result may not have reached this one yet.
    if (signal.aborted || (hasWaited && !(await this.#isWaiting(name)))) return
    const { key, answer } = readSaved(name) ?? { key: newKey(), answer: await this.#answerTo(item, signal) }
    if (signal.aborted) return forget(name)
    save(name, { key, answer })
    try {
      await untilAcknowledged(() => this.#handle.answer(item, answer, { key }))
    } catch (error) {
      if (!PerdureError.isInstance(error)) throw error
      // The result does not fit the tool's schema: that is an error of the call.
      if (error.code === 'invalid_answer' && answer.ok)
        await untilAcknowledged(() => this.#handle.answer(item, { ok: false, error: error.message }, { key: newKey() }))
      else if (error.retryable) return
    }
    forget(name)
  }

  async #isWaiting(name: string): Promise<boolean> {
    const { pending } = await untilAcknowledged(() => this.#handle.view())
    return pending.some((item) => nameOf(item) === name)
  }

  async #answerTo(item: PendingItem, signal: AbortSignal): Promise<Answer> {
    const run = this.#tools()[item.tool] as ClientTool<unknown>
    try {
      return { ok: true, result: (await run(item.args, { callId: item.callId, signal })) ?? null }
    } catch (error) {
      return { ok: false, error: error instanceof Error ? error.message : String(error) }
    }
  }
}

function nameOf({ conversationId, callId, round }: PendingItem): string {
  return `perdure:call:${JSON.stringify([conversationId, callId, round])}`
}

type LockOptions = { readonly signal: AbortSignal } | { readonly ifAvailable: true }
type Locks = { request<T>(name: string, options: LockOptions, work: (lock: unknown) => Promise<T>): Promise<T> }

/** Does the work in one tab of the browser at a time, where it has locks. Nothing when the signal aborts first. */
async function alone(name: string, signal: AbortSignal, work: (hasWaited: boolean) => Promise<void>): Promise<void> {
  const { locks } = (globalThis as { navigator?: { locks?: Locks } }).navigator ?? {}
  if (!locks) return work(false)
  const isDone = await locks.request(name, { ifAvailable: true }, async (lock) => {
    if (lock) await work(false)
    return lock !== null
  })
  try {
    if (!isDone) await locks.request(name, { signal }, () => work(true))
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

type Storage = {
  getItem(name: string): string | null
  setItem(name: string, value: string): void
  removeItem(name: string): void
}

/** Survives a reload, and belongs to one tab. Browsers refuse it where people switched it off, or when it is full: then nothing is kept. */
function storage<T>(use: (storage: Storage) => T): T | null {
  try {
    const { sessionStorage } = globalThis as { sessionStorage?: Storage }
    return sessionStorage ? use(sessionStorage) : null
  } catch {
    return null
  }
}

function save(name: string, saved: Saved): void {
  storage((session) => session.setItem(name, JSON.stringify(saved)))
}

function readSaved(name: string): Saved | null {
  return storage((session) => JSON.parse(session.getItem(name) ?? 'null') as Saved | null)
}

function forget(name: string): void {
  storage((session) => session.removeItem(name))
}
