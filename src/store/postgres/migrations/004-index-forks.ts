import { secondary } from '../sql-names.ts'

/** Finds the forks of a conversation by their parent's text: see `forkParents`. */
export const indexForks = (schema: string): string => `
  CREATE INDEX conversations_forks ON ${schema}.conversations (tenant ${secondary}, parent COLLATE "C") WHERE parent IS NOT NULL;
`
