import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { PeerSubject } from './subjects.ts'

/** Where it keeps its data, and the database in which it warms up. */
export type Place = { readonly folder: string; readonly url?: string; readonly asideUrl?: string }

export type Answered = {
  readonly ms: number
  readonly sinceStartMs: number
  readonly openedMs: number
  readonly refused: string | null
}

type Verbs = {
  turns(args: { id: string; count: number; fresh?: boolean; isAside?: boolean }): number[]
  rate(args: { id: string; lanes: number; perLane: number }): number
  ask(args: { id: string }): unknown
  answer(args: { id: string; token: unknown }): Answered
  settings(args: object): Readonly<Record<string, string | number>>
  close(args: object): null
}

const openWithinMs = 60_000

/** One subject in its own process, which runs one command after another. */
export class SubjectProcess {
  readonly subject: PeerSubject
  readonly #child: ChildProcess
  readonly #errors: () => string

  private constructor(subject: PeerSubject, child: ChildProcess, errors: () => string) {
    this.subject = subject
    this.#child = child
    this.#errors = errors
  }

  /** Starts it in the folder of the installed packages. `name` is what the process is called to others of the same store. */
  static async start(
    app: string,
    subject: PeerSubject,
    place: Place,
    { payMs = 0, name = 'one' }: { payMs?: number; name?: string } = {},
  ): Promise<SubjectProcess> {
    const child = fork(
      join(app, 'subject.js'),
      [subject.module, subject.kind, place.folder, ...[place.url, place.asideUrl].filter((url) => url !== undefined)],
      {
        cwd: app,
        execArgv: ['--disable-warning=ExperimentalWarning'],
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
        serialization: 'advanced',
        env: { ...process.env, PAY_MS: String(payMs), EXECUTOR_ID: name, MASTRA_TELEMETRY_DISABLED: '1' },
      },
    )
    let errors = ''
    child.stderr?.on('data', (chunk) => (errors = (errors + String(chunk)).slice(-4_000)))
    const started = new SubjectProcess(subject, child, () => errors)
    await started.#reply(openWithinMs)
    return started
  }

  async call<V extends keyof Verbs>(verb: V, args: Parameters<Verbs[V]>[0]): Promise<ReturnType<Verbs[V]>> {
    this.#child.send({ verb, ...args })
    return (await this.#reply()) as ReturnType<Verbs[V]>
  }

  /** In order, and waits until the process has ended. */
  async close(): Promise<void> {
    const exit = once(this.#child, 'exit')
    await this.call('close', {})
    await exit
  }

  /** As a crash does. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exit = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exit
  }

  #reply(withinMs = 600_000): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const child = this.#child
      const fail = (what: string) =>
        settle(() => reject(new Error(`${this.subject.id}: ${what} ${this.#errors()}`.trim())))
      const timer = setTimeout(() => fail('no reply.'), withinMs)
      const onMessage = (message: unknown) => {
        const { value, error } = message as { value?: unknown; error?: string }
        if (error === undefined) settle(() => resolve(value))
        else fail(error)
      }
      const onExit = (code: number | null) => fail(`the process ended with ${code}.`)
      const settle = (then: () => void) => {
        clearTimeout(timer)
        child.off('message', onMessage)
        child.off('exit', onExit)
        then()
      }
      child.on('message', onMessage)
      child.on('exit', onExit)
    })
  }
}
