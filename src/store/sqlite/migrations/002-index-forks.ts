/** Finds the forks of a conversation by their parent's text: see `forkParents`. */
export const indexForks = `
CREATE INDEX conversations_forks ON conversations (tenant, parent) WHERE parent IS NOT NULL;
`
