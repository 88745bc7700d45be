/** An address of every page and tab of the studio, over the data of `fillWorld`. */
export const everyPage = [
  '/inbox',
  '/conversations',
  '/conversations/ticket-48',
  '/conversations/ticket-48?tab=timeline',
  '/conversations/ticket-48?tab=log',
  '/conversations/ticket-48?tab=state',
  '/conversations/ticket-48?tab=calls',
  '/conversations/ticket-48?tab=forks',
  '/conversations/ticket-42?at=3',
  '/flows',
  '/flows/return/return-1',
  '/flows/return/return-2?event=2',
  '/health',
  '/open',
] as const

/** What the pages of a person say who may see nothing of them. */
export const emptyPages = [
  '/conversations/no-such',
  '/flows/return/no-such',
  '/flows?status=failed',
  '/nowhere',
] as const
