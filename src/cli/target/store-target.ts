import { type Logger, silentLogger } from '../../base/logger.ts'
import { createClient } from '../../client/create-client.ts'
import { createScope, type Scope } from '../../define/scope.ts'
import { createRuntime } from '../../runtime/create-runtime.ts'
import type { Runtime, RuntimeOptions } from '../../runtime/runtime.ts'
import { openRoutes } from '../../server/create-handler.ts'
import type { Store } from '../../store/store.ts'
import type { LoadedConfig } from '../load-config.ts'
import { type Output, terminalLogger } from '../output.ts'
import { type OpenStoreOptions, openStore } from './open-store.ts'
import type { Target } from './open-target.ts'
import { type TargetArgs, userNameOf } from './target-args.ts'

export type StoreTargetOptions = Pick<OpenStoreOptions, 'create'> & {
  /** Run the config's agents and flows in this process. Default: other processes continue with what this command writes. */
  readonly work?: boolean
  /** Default: stderr when the command works or is verbose, else none. */
  readonly logger?: Logger
}

/** A store, opened in this process. Commands reach it with the client that they use for a server. */
export async function openStoreTarget(
  args: TargetArgs,
  { isVerbose }: Pick<Output, 'isVerbose'>,
  { work = false, create = false, ...options }: StoreTargetOptions = {},
): Promise<Target> {
  const logger = options.logger ?? (isVerbose || work ? terminalLogger({ isVerbose }) : silentLogger)
  const { store, place, loaded } = await openStore(args, { logger, create })
  const runtime = createRuntime(runtimeOptions(loaded, { store, logger, work }))
  const scope = createScope({ user: userNameOf(args), tenant: args.tenant ?? 'default' }) as Scope
  const { close, ...verbs } = clientOf(runtime, { store, scope, logger, work })
  return {
    ...verbs,
    kind: 'store',
    place,
    agents: loaded?.config.agents.map(({ name }) => name) ?? [],
    secret: loaded?.config.secret,
    async close() {
      close()
      await runtime.close({ drainMs: work ? 10_000 : 0 })
      await store.close()
    },
  }
}

/** Without the config's `tenant` and `who`: the arguments name both. */
function runtimeOptions(
  loaded: LoadedConfig | null,
  own: { readonly store: Store; readonly logger: Logger; readonly work: boolean },
): RuntimeOptions {
  if (!loaded) return { agents: [], ...own }
  const { tenant: _, who: __, server: ___, store: ____, ...options } = loaded.config
  return { ...options, ...own }
}

/** How long a command waits for work of another process. */
const othersMs = 3_000
/** The longest a timer can wait. */
const longestMs = 2 ** 31 - 1

/** Far more than a network needs: a command has its machine to itself. */
const limits = {
  bodyBytes: 2 ** 30,
  bodyMs: longestMs,
  depth: 10_000,
  // Well below the longest event that the client takes.
  answerBytes: 2 ** 25,
  unsentBytes: 2 ** 30,
  streamBytes: 2 ** 24,
}

export type ClientOfOptions = {
  readonly store: Store
  readonly scope: Scope
  readonly logger: Logger
  /** Whether the runtime works: then requests wait for as long as the work takes. */
  readonly work: boolean
}

/** The client's verbs on a runtime of this process, as an operator of its store: nothing is hidden. */
export function clientOf(
  runtime: Runtime,
  { store, scope, logger, work }: ClientOfOptions,
): Pick<Target, 'conversation' | 'conversations' | 'inbox' | 'flow' | 'sessions'> & { close(): void } {
  const { answer, close } = openRoutes(runtime, {
    authenticate: () => scope,
    upkeep: { store, isOperator: () => true },
    limits: { ...limits, waitMs: work ? longestMs : othersMs },
    logger,
  })
  const client = createClient({
    url: 'http://localhost',
    operatorToken: 'this-process',
    fetch: (url, init) => answer(new Request(url, init)),
  })
  return { ...client, close }
}
