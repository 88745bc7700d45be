import type { Agent } from '../define/agent.ts'
import type { RuntimeOptions } from '../runtime/runtime.ts'
import type { ServeOptions } from '../server/serve.ts'
import type { UpkeepOptions } from '../server/server-options.ts'
import type { Store } from '../store/store.ts'

/** The content of `perdure.config.ts`: how to create the runtime, and how to serve it. */
export type Config<Agents extends readonly Agent[] = readonly Agent[]> = Omit<
  RuntimeOptions<Agents>,
  'store' | 'work'
> & {
  /** A store, or its location: the path of a SQLite file, relative to the config's folder, or `postgres://…`. */
  readonly store: Store | string
  /** For `perdure serve`. */
  readonly server?: Omit<ServeOptions, 'upkeep'> & {
    /** More operators, in addition to everyone who can read the token file. False: no maintenance over HTTP. */
    readonly upkeep?: Pick<UpkeepOptions, 'isOperator'> | false
  }
}

/** For the default export of `perdure.config.ts`. Returns its argument, with its types checked. */
export function defineConfig<const Agents extends readonly Agent[]>(config: Config<Agents>): Config<Agents> {
  return config
}
