import { version } from '../../../lib/version.ts'

export const dynamic = 'force-dynamic'

/** Which code Next.js serves now. */
export function GET(): Response {
  return Response.json(version)
}
