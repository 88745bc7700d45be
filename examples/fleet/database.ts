/** The database at DATABASE_URL; without it, in a clone of the repository, a Postgres that is removed again. */
export type Database = { readonly url: string; stop(): Promise<void> }

export async function openDatabase(): Promise<Database> {
  const { DATABASE_URL } = process.env
  if (DATABASE_URL) return { url: DATABASE_URL, stop: async () => {} }
  const { startPostgres } = await import('../../test/setup/start-postgres.ts')
  const { url, destroy } = await startPostgres()
  return { url, stop: destroy }
}
