/** See `StoredAttrs.idleSeq`. Versions before it leave it behind, and then a message is planned on the log. */
export const idleSeq = `
ALTER TABLE conversations ADD COLUMN idle_seq INTEGER NOT NULL DEFAULT 0;
`
