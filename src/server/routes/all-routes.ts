import type { Route } from '../route.ts'
import { callRoutes } from './calls.ts'
import { conversationRoutes } from './conversations.ts'
import { fileRoutes } from './files.ts'
import { flowRoutes } from './flows.ts'
import { healthRoutes } from './health.ts'
import { liveRoutes } from './live.ts'
import { openApiRoutes } from './openapi.ts'
import { recordRoutes } from './records.ts'
import { storeRoutes } from './store.ts'
import { turnRoutes } from './turns.ts'
import { uiRoutes } from './ui.ts'

/** The table of everything the server does; those for operators only where it is given `upkeep`. Each route needs a case in the tenancy test. */
export const allRoutes: readonly Route[] = [
  ...healthRoutes,
  ...openApiRoutes,
  ...conversationRoutes,
  ...turnRoutes,
  ...callRoutes,
  ...liveRoutes,
  ...fileRoutes,
  ...recordRoutes,
  ...flowRoutes,
  ...uiRoutes,
  ...storeRoutes,
]
