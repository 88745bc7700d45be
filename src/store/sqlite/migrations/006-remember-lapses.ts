/** When each lease was claimed, and the epochs of those before it that lapsed, as a JSON array. Both count for nothing where there is no holder. */
export const rememberLapses = `
ALTER TABLE conversations ADD COLUMN claimed_at INTEGER;
ALTER TABLE conversations ADD COLUMN lapsed TEXT;
`
