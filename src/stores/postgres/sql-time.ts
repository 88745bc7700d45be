/** The database's clock in milliseconds. In a condition put it in parentheses after SELECT, or no index is used. */
export const nowMs = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'
