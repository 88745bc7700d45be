import type { Json } from '../../base/json.ts'
import type { PendingItem } from '../../view/view.ts'
import type { Asker, Decision } from './decision.ts'

/** Null: later. */
export async function askApproval({ args }: Pick<PendingItem, 'args'>, asker: Asker): Promise<Decision | null> {
  for (;;) {
    const choice = await asker.choose('approve?', ['yes', 'edit', 'no', 'later'])
    if (choice === null || choice === 'later') return null
    if (choice === 'yes') return { verb: 'approve' }
    if (choice === 'no') {
      const reason = await asker.ask('reason (Enter: none) ›')
      if (reason !== null) return { verb: 'deny', ...(reason.trim() === '' ? {} : { reason: reason.trim() }) }
    } else {
      const edited = await editArguments(args, asker)
      if (edited) return { verb: 'approve', args: edited.args }
    }
  }
}

/** Null: with Escape or an empty line, back to the choice. */
async function editArguments(args: Json, asker: Asker): Promise<{ args: Json } | null> {
  asker.say('Change the arguments; Enter approves with them, Escape goes back.')
  for (let text = JSON.stringify(args); ; ) {
    const typed = await asker.ask('arguments ›', text)
    if (typed === null || typed.trim() === '') return null
    try {
      return { args: JSON.parse(typed) as Json }
    } catch (error) {
      asker.say(`That is not JSON (${(error as Error).message}). Mend it, or press Escape.`)
      text = typed
    }
  }
}
