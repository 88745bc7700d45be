import { inject, test } from 'vitest'
import { childFailpoints } from '../../src/base/failpoint.ts'
import { childCrashes } from './child-crashes.ts'
import { expectEndured } from './expect-endured.ts'

const timeout = 180_000

test('wherever a process with parents and children on a SQLite file is killed, the next one brings them to the end they would have had', {
  timeout,
}, async () => {
  expectEndured(await childCrashes({ store: 'sqlite', seed: 5, rounds: 1 }))
})

test('wherever a process with parents and children on Postgres is killed, the next one brings them to the end they would have had', {
  timeout,
}, async () => {
  const postgresUrl = inject('postgresUrl')
  expectEndured(await childCrashes({ store: 'postgres', postgresUrl, seed: 5, rounds: 1, at: childFailpoints }))
})
