import { auditCommands } from './audit-commands.ts'
import { blobCommands } from './blob-commands.ts'
import { callCommands } from './call-commands.ts'
import { claimDue } from './claim-due.ts'
import type { WeightedCommand } from './command.ts'
import { commitCommands } from './commit-commands.ts'
import { conversationCommands } from './conversation-commands.ts'
import { forkCommands } from './fork-commands.ts'
import { leaseCommands } from './lease-commands.ts'
import { logCommands } from './log-commands.ts'
import { loggedCallCommands } from './logged-call-commands.ts'
import { outboxCommands } from './outbox-commands.ts'
import { refusalCommands } from './refusal-commands.ts'
import { storeCommands } from './store-commands.ts'

export const allCommands: readonly WeightedCommand[] = [
  ...logCommands,
  ...conversationCommands,
  ...commitCommands,
  ...callCommands,
  ...loggedCallCommands,
  ...forkCommands,
  ...leaseCommands,
  claimDue,
  ...auditCommands,
  ...blobCommands,
  ...storeCommands,
  ...outboxCommands,
  ...refusalCommands,
]
