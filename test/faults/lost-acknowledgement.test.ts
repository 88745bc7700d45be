import { inject, test } from 'vitest'
import { expectEndured } from './expect-endured.ts'
import { lostAcknowledgement } from './lost-acknowledgement.ts'

test('a commit whose answer is lost happens once with a key, and is called ambiguous without (postgres)', {
  timeout: 60_000,
}, async () => {
  expectEndured(await lostAcknowledgement({ postgresUrl: inject('postgresUrl'), seed: 7, rounds: 10 }))
})
