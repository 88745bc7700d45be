/** A server that, left to itself, answers a commit long before it is on disk: only what the store asks for can save it. */
export const unsyncedByDefault = { synchronous_commit: 'off', wal_writer_delay: '10s', autovacuum: 'off' }
