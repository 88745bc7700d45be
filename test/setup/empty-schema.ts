import pg from 'pg'

/** Removes every row of a schema but its list of migrations: as good as a new one, and much faster than making one. */
export function emptySchema(url: string, schema: string): () => Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 1, allowExitOnIdle: true })
  return async () => {
    await pool.query(`DO $$ DECLARE name text; BEGIN
      FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = '${schema}' AND tablename <> 'migrations' LOOP
        EXECUTE format('DELETE FROM ${schema}.%I', name);
      END LOOP;
    END $$`)
  }
}
