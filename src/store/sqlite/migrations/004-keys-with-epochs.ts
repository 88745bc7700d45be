/** A commit that took the lease can be repeated with the same answer: its key is kept with the epoch it got. */
export const keysWithEpochs = `
ALTER TABLE keys ADD COLUMN epoch INTEGER;
`
