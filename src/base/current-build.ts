/**
 * The build that this process is part of, or null. Only what a framework itself sets, in build processes alone: a name such as `npm run build`
 * proves nothing.
 */
export function currentBuild(env: Readonly<Record<string, string | undefined>> = environment()): string | null {
  if (env['NEXT_PHASE'] === 'phase-production-build') return 'next build'
  // SvelteKit loads the built server in such a process to analyse and prerender it.
  if (env['SVELTEKIT_FORK'] === 'true') return 'the build of SvelteKit'
  return null
}

/** Through `globalThis`, because bundlers replace `process.env` by what they know at build time. */
function environment(): Readonly<Record<string, string | undefined>> {
  return globalThis.process?.env ?? {}
}
