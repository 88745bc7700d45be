/**
 * What each connection is told first. A commit is answered when it is on disk, and a statement sees what was committed before it, whatever the server's
 * defaults are. A process that is stopped inside a transaction does not hold its rows for long. Every query has its index, and plans are made once: one made while a table was
 * small must still be right when it is large.
 */
export const sessionSettings = `
  SET synchronous_commit = on;
  SET default_transaction_isolation = 'read committed';
  SET idle_in_transaction_session_timeout = '10s';
  SET plan_cache_mode = force_generic_plan;
  SET enable_seqscan = off;
  SET enable_hashjoin = off;
  SET enable_mergejoin = off;
  SET max_parallel_workers_per_gather = 0;
  SET jit = off
`
