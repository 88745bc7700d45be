/** Called once when a server starts, and never by `next build`. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME === 'nodejs') await (await import('./lib/start.ts')).start()
}
