import type { Asker, Decision } from './decision.ts'
import { readJsonOrText } from './read-value.ts'

/** About a call that was started and has no result. Null: later. */
export async function askRecovery(asker: Asker): Promise<Decision | null> {
  for (;;) {
    const choice = await asker.choose('run it again, report it as unknown, or tell its result?', [
      'again',
      'report',
      'tell',
      'later',
    ])
    if (choice === null || choice === 'later') return null
    if (choice === 'again') return { verb: 'answer', value: 'rerun' }
    if (choice === 'report') return { verb: 'answer', value: 'report' }
    const result = await asker.ask('its result (JSON or text) ›')
    if (result !== null) return { verb: 'answer', value: { result: readJsonOrText(result) } }
  }
}
