import { runtime } from './runtime.ts'

/** Due work continues before the first request, and a server that stops releases its work. */
export async function start(): Promise<void> {
  await runtime.start()
  // Next.js ends the process at once unless this is set; see the script `start`.
  if (!process.env.NEXT_MANUAL_SIG_HANDLE) return
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, async () => {
      await runtime.close({ drainMs: 10_000 })
      process.exit(0)
    })
  }
}
