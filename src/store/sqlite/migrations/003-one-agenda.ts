/**
 * One index for what is due and for what is held: most commits that change the one change the other, and so write one page for both. By holder
 * first: what nobody holds is found by its time, and what somebody holds is little.
 */
export const oneAgenda = `
DROP INDEX conversations_due;
DROP INDEX conversations_leased;
CREATE INDEX conversations_agenda ON conversations (lease_holder, agent, wake_at) WHERE wake_at IS NOT NULL OR lease_holder IS NOT NULL;
`
