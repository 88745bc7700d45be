import { NotReadyError } from '../../base/errors/server-errors.ts'
import { json } from '../answer.ts'
import type { Route } from '../route.ts'

export const healthRoutes: readonly Route[] = [
  {
    name: 'health',
    method: 'GET',
    path: '/health',
    summary: 'Whether the process answers, whatever its store does',
    isPublic: true,
    answer: { status: 200, description: 'It does.' },
    handle: async () => json({ status: 'ok' }),
  },
  {
    name: 'ready',
    method: 'GET',
    path: '/ready',
    summary: 'Whether the store answers and the worker finds its work',
    isPublic: true,
    answer: { status: 200, description: 'It can do its work. Otherwise `not_ready`, which says what is missing.' },
    async handle({ server }) {
      const { isReady, store, worker } = await server.readiness()
      if (!isReady) throw new NotReadyError(store, worker)
      return json({ status: 'ready', store, worker })
    },
  },
]
