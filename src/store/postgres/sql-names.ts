/** The database's clock in milliseconds. In a condition put it in parentheses after SELECT, or no index is used. */
export const nowMs = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/**
 * Marks the tenant in every index but the primary key, and in the queries that such an index is for. It orders like "C", but an index is only used
 * where the collation is the same: so a look-up by primary key never takes another index, as it does by chance while a table has
 * no statistics, and then reads all rows of the tenant.
 */
export const secondary = 'COLLATE "POSIX"'
