import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { StoreError } from '../../../src/base/errors/store-errors.ts'
import { silentLogger } from '../../../src/base/logger.ts'
import { defineAgent } from '../../../src/define/define-agent.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { createStore } from '../../../src/store/create-store.ts'
import { memoryDriver } from '../../../src/store/memory/memory-store.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { childInput, dieWithParent, say } from '../harness/child-channel.ts'

export type Breakage = 'every commit is refused' | 'every commit throws' | 'a table is missing' | 'the file is damaged'

export type BrokenInput = { readonly breakage: Breakage; readonly path: string; readonly watchMs: number }

/** `calls` and `lines`: what the worker asked of the store and what it logged, in `watchMs`. `problems`: conversations that lists mark. */
export type BrokenMessage = {
  readonly type: 'watched'
  readonly calls: number
  readonly lines: readonly string[]
  readonly problems: number
  readonly closedInMs: number
}

const conversations = 20

/** A node whose store fails for good while turns are due. */
const { breakage, path, watchMs } = childInput<BrokenInput>()
dieWithParent()
const agent = defineAgent({ name: 'echo', model: scriptedModel(() => 'Yes.') })
const { store: data, broken } = openBreakable()
const api = createRuntime({ agents: [agent], store: data, logger: silentLogger, work: false })
for (let n = 0; n < conversations; n++) await api.conversation(`c${n}`, { agent: 'echo' }).send('Are you there?')
const store = await broken()

const lines: string[] = []
const log = (message: string): void => void lines.push(message)
let calls = 0
const logger = { ...silentLogger, warn: log, error: log }
const runtime = createRuntime({ agents: [agent], store: counted(store), logger, pollMs: 20, leaseMs: 1_000 })
setTimeout(async () => {
  const [asked, told] = [calls, [...lines]]
  const listed = await runtime.conversations().catch(() => [])
  const begun = performance.now()
  await runtime.close({ drainMs: 500 })
  const closedInMs = performance.now() - begun
  const problems = listed.filter(({ problem }) => problem !== undefined).length
  say<BrokenMessage>({ type: 'watched', calls: asked, lines: told, problems, closedInMs })
  process.exit(0)
}, watchMs)

function openBreakable(): { readonly store: Store; readonly broken: () => Promise<Store> } {
  if (breakage === 'every commit is refused' || breakage === 'every commit throws') {
    const driver = memoryDriver()
    let isBroken = false
    const refuse = (): never => {
      if (breakage === 'every commit throws') throw new Error('the driver is broken')
      throw new StoreError('the disk is worn out', { retryable: false })
    }
    const store = createStore({ ...driver, commit: async (...args) => (isBroken ? refuse() : driver.commit(...args)) })
    return {
      store,
      async broken() {
        isBroken = true
        return store
      },
    }
  }
  const store = sqliteStore({ path, logger: silentLogger })
  return {
    store,
    async broken() {
      const other = new DatabaseSync(path)
      const find = "SELECT rootpage AS root FROM sqlite_master WHERE name = 'events'"
      const { root } = other.prepare(find).get() as { root: number }
      if (breakage === 'a table is missing') other.exec('DROP TABLE summaries')
      else other.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      other.close()
      await store.close()
      if (breakage === 'the file is damaged') damage(path, root)
      return sqliteStore({ path, logger: silentLogger })
    },
  }
}

/** The page that a table begins with. */
function damage(file: string, page: number): void {
  const bytes = readFileSync(file)
  bytes.fill(0x5a, (page - 1) * 4_096, page * 4_096)
  writeFileSync(openSync(file, 'r+'), bytes)
}

function counted<T extends object>(of: T): T {
  return new Proxy(of, {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        const answer: unknown = member.apply(target, args)
        if (name === 'forTenant') return counted(answer as object)
        calls += 1
        return answer
      }
    },
  })
}
