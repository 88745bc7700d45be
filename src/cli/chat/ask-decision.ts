import type { PendingItem } from '../../view/view.ts'
import { askApproval } from './ask-approval.ts'
import { askClientTool } from './ask-client-tool.ts'
import { askForm } from './ask-form.ts'
import { askRecovery } from './ask-recovery.ts'
import type { Asker, Decision } from './decision.ts'

/** Asks a person what a pending call needs. Null: later. */
export async function askDecision(item: PendingItem, asker: Asker): Promise<Decision | null> {
  switch (item.kind) {
    case 'approval':
      return askApproval(item, asker)
    case 'recovery':
      return askRecovery(asker)
    case 'client_exec':
      return askClientTool(item.schema, asker)
    case 'elicitation': {
      const filled = await askForm(item.schema, asker)
      return filled && { verb: 'answer', value: filled.value }
    }
    // A child agent answers for itself; what it waits for is an item of its own.
    case 'sub_agent':
      return null
  }
}
