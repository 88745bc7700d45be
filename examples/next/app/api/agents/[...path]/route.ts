import { createScope } from 'perdure'
import { createHandler } from 'perdure/server'
import { runtime } from '../../../../lib/runtime.ts'

const handler = createHandler(runtime, {
  basePath: '/api/agents',
  // Everyone is the same user here. Return the user of your session, or null to refuse.
  authenticate: () => createScope({ user: 'local' }),
})

export { handler as DELETE, handler as GET, handler as POST }
