import { expect, test } from 'vitest'
import { currentBuild } from './current-build.ts'

test.each([
  [{ NEXT_PHASE: 'phase-production-build' }, 'next build'],
  [{ SVELTEKIT_FORK: 'true' }, 'the build of SvelteKit'],
  [{ NEXT_PHASE: 'phase-production-server' }, null],
  [{ NEXT_PHASE: 'phase-development-server' }, null],
  [{ NODE_ENV: 'production', npm_lifecycle_event: 'build', CI: '1' }, null],
  [{}, null],
])('%j is in %s', (env, build) => {
  expect(currentBuild(env)).toBe(build)
})
