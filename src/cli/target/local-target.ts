import { type Logger, silentLogger } from '../../base/logger.ts'
import { createScope, type Scope } from '../../define/scope.ts'
import { createRuntime } from '../../runtime/create-runtime.ts'
import type { RuntimeOptions } from '../../runtime/runtime.ts'
import type { Store } from '../../store/store.ts'
import type { LoadedConfig } from '../load-config.ts'
import { type Output, terminalLogger } from '../output.ts'
import { listed, localConversation } from './local-conversation.ts'
import { localFlow } from './local-flow.ts'
import { type OpenStoreOptions, openStore } from './open-store.ts'
import type { Target } from './open-target.ts'
import { type TargetArgs, userNameOf } from './target-args.ts'

export type LocalTargetOptions = Pick<OpenStoreOptions, 'create'> & {
  /** Works on whatever is due, with the config's agents and flows. Default: whoever has their code elsewhere goes on with what is done here. */
  readonly work?: boolean
  /** Default: stderr, where it works or is verbose. */
  readonly logger?: Logger
}

const pageSize = 50
/** How long somebody else's work is waited for; our own, as long as a timer can. */
const othersMs = 3_000
const longestMs = 2 ** 31 - 1

/** A store, through a runtime of this process. */
export async function openLocalTarget(
  args: TargetArgs,
  { isVerbose }: Pick<Output, 'isVerbose'>,
  { work = false, create = false, ...options }: LocalTargetOptions = {},
): Promise<Target> {
  const logger = options.logger ?? (isVerbose || work ? terminalLogger({ isVerbose }) : silentLogger)
  const { store, place, loaded } = await openStore(args, { logger, create })
  const runtime = createRuntime(runtimeOptions(loaded, { store, logger, work }))
  const { tenant = 'default' } = args
  const verbs = runtime.as(createScope({ user: userNameOf(args), tenant }) as Scope)
  const flows = { verbs, store: store.forTenant(tenant), waitMs: work ? longestMs : othersMs }
  return {
    kind: 'store',
    place,
    agents: loaded?.config.agents.map(({ name }) => name) ?? [],
    conversation: (id, { agent } = {}) => localConversation(verbs, id, agent),
    async conversations(filter = {}) {
      const { limit = pageSize } = filter
      const conversations = (await verbs.conversations({ ...filter, limit })).map(listed)
      return { conversations, before: conversations.length === limit ? (conversations.at(-1)?.id ?? null) : null }
    },
    async inbox(page = {}) {
      const { limit = pageSize } = page
      const items = await verbs.inbox({ ...page, limit })
      return { items, before: items.length === limit ? (items.at(-1)?.id ?? null) : null }
    },
    flow: (name, id) => localFlow(flows, name, id),
    async close() {
      await runtime.close({ drainMs: work ? 10_000 : 0 })
      await store.close()
    },
  }
}

/** Without the config's `tenant` and `who`: here they are named, not told from somebody's scope. */
function runtimeOptions(
  loaded: LoadedConfig | null,
  own: { readonly store: Store; readonly logger: Logger; readonly work: boolean },
): RuntimeOptions {
  if (!loaded) return { agents: [], ...own }
  const { tenant: _, who: __, server: ___, store: ____, ...options } = loaded.config
  return { ...options, ...own }
}
