import { json } from '../answer.ts'
import type { Route } from '../route.ts'

export const healthRoutes: readonly Route[] = [
  {
    name: 'health',
    method: 'GET',
    path: '/health',
    summary: 'Whether the server answers',
    isPublic: true,
    answer: { status: 200, description: 'It does.' },
    handle: async () => json({ status: 'ok' }),
  },
]
