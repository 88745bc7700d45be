/**
 * One index for what is due and for what is held: most commits that change the one change the other, and so write one page for both.
 * Small, so that a renewal walks along all of it.
 */
export const oneAgenda = `
DROP INDEX conversations_due;
DROP INDEX conversations_leased;
CREATE INDEX conversations_agenda ON conversations (agent, wake_at, lease_holder) WHERE wake_at IS NOT NULL OR lease_holder IS NOT NULL;
`
