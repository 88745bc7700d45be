import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { TestDatabases } from './test-databases.ts'

/** Tests of one file. */
export type TestUnit = {
  readonly file: string
  /** Only tests with these full names. Default: all of the file. */
  readonly names?: readonly string[]
}

export type TestLimits = {
  /** For each test that has no limit of its own. */
  readonly testMs: number
  /** For all of them, with the start of their process. */
  readonly unitMs: number
}

export type TestOutcome = {
  /** `died`: something other than a test failed, such as the loading of the file, or its process. */
  readonly result: 'passed' | 'failed' | 'died' | 'took too long'
  /** The test that failed. */
  readonly test: string | null
  /** It failed by a comparison, not by an error or for want of time. */
  readonly isAssertion?: boolean
  /** How many tests passed. */
  readonly ran: number
  readonly why: string
  readonly ms: number
}

export type HostOptions = { readonly root: string; readonly records: boolean }
export type HostRequest = TestUnit & {
  readonly changed: readonly string[]
  readonly testTimeoutMs: number
  readonly postgresUrl: string
}
export type HostAnswer = TestOutcome

/** After so many runs a fresh process takes over: an old one grows. */
const runsPerHost = 150

/** Runs tests in a workspace, in a process that stays warm between runs. The Postgres server is its own: after each run nothing is left in it. */
export class TestRunner {
  readonly #options: HostOptions
  readonly #databases: TestDatabases
  readonly #env: Readonly<Record<string, string>>
  #host: ChildProcess | null = null
  #runs = 0
  #changed = new Set<string>()

  constructor(options: HostOptions, postgresUrl: string, env: Readonly<Record<string, string>> = {}) {
    this.#options = options
    this.#databases = new TestDatabases(postgresUrl)
    this.#env = env
  }

  /** A source of the workspace has another text now. */
  changed(file: string): void {
    this.#changed.add(file)
  }

  /** Stops at the first test that fails, unless it records. */
  async run(unit: TestUnit, { testMs, unitMs }: TestLimits): Promise<TestOutcome> {
    const host = await this.#warmHost()
    const postgresUrl = await this.#databases.empty()
    const request: HostRequest = { ...unit, changed: [...this.#changed], testTimeoutMs: testMs, postgresUrl }
    this.#changed.clear()
    const abort = new AbortController()
    const { signal } = abort
    const died: TestOutcome = { result: 'died', test: null, ran: 0, why: 'the test process ended', ms: 0 }
    const late: TestOutcome = { ...died, result: 'took too long', why: '' }
    let hasEndedWell = false
    try {
      const answer = once(host, 'message', { signal }).then(([message]) => message as HostAnswer)
      host.send(request)
      const outcome = await Promise.race([
        answer,
        once(host, 'exit', { signal }).then(() => died),
        sleep(unitMs, late, { signal }),
      ])
      hasEndedWell = outcome !== died && outcome !== late
      if (!hasEndedWell) this.close()
      return outcome
    } finally {
      abort.abort()
      await this.#databases.tidy(postgresUrl, hasEndedWell)
    }
  }

  /** Ends the process with all its workers, also those that a bug has made hang. */
  close(): void {
    const host = this.#host
    this.#host = null
    this.#runs = 0
    if (host?.pid === undefined) return
    try {
      process.kill(-host.pid, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }

  async #warmHost(): Promise<ChildProcess> {
    if (this.#runs >= runsPerHost) this.close()
    this.#runs += 1
    if (this.#host) return this.#host
    const { root } = this.#options
    const program = join(root, 'test', 'mutants', 'random', 'test-host.ts')
    const host = fork(program, [JSON.stringify(this.#options)], {
      cwd: root,
      env: { ...process.env, ...this.#env },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      // A group of its own.
      detached: true,
    })
    const [message] = (await Promise.race([once(host, 'message'), once(host, 'exit')])) as unknown[]
    if (message !== 'ready') throw new Error(`vitest did not start in ${root}: it ended with ${String(message)}`)
    this.#changed.clear()
    this.#host = host
    return host
  }
}
