/**
 * A session written as code: it asks a person, pays, waits, and asks an agent. It begins in one runtime and continues
 * in another, as after a crash or a deployment. The payment is made once.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, defineAgent, defineFlow } from 'perdure'
import { NotSuspendedError } from 'perdure/errors'
import { sqliteStore } from 'perdure/sqlite'
import { scriptedModel } from 'perdure/testing'
import { z } from 'zod'

const payments: string[] = []
const support = defineAgent({ name: 'support', model: scriptedModel(() => 'They are happy with it.') })

const refund = defineFlow({
  name: 'refund',
  version: 1,
  input: z.object({ orderId: z.string(), cents: z.number().int() }),
  run: async (flow, { orderId, cents }) => {
    // Every transition replays this from the top against the record, so all outside input must come through `flow`.
    const { ok } = await flow.suspend({ ask: 'manager', orderId }, { schema: z.object({ ok: z.boolean() }) })
    if (!ok) return { paid: 0, feedback: null }

    // Recorded once. After a crash in the middle it runs again with the same id: use it as an idempotency key.
    await flow.step('pay', { input: { orderId, cents } }, ({ id }) => {
      payments.push(id)
      return { paid: cents }
    })
    await flow.sleep(200) // Three weeks work as well: no process has to be alive meanwhile.
    const { text } = await flow.agent(support, { message: `Ask the customer whether ${orderId} is settled.` })
    return { paid: cents, feedback: text }
  },
})

const folder = mkdtempSync(join(tmpdir(), 'perdure-'))
const store = sqliteStore({ path: join(folder, 'agents.db') })
const options = { agents: [support], flows: [refund], store }

const first = createRuntime(options)
// The same key is the same session, however often an impatient client starts it.
const started = await first.flow(refund, 'refund-42').start({ orderId: 'o-17', cents: 4900 }, { key: 'order-o-17' })
assert(started.status === 'waiting')
console.log('waits for:', JSON.stringify(started.tag))
await first.close()

const second = createRuntime(options)
const session = second.flow(refund, 'refund-42')
const resumed = await session.resume({ ok: true })
assert(resumed.status === 'sleeping') // It wakes by itself at `resumed.wakeAt`, in any process.
const end = await session.outcome()
assert(end.status === 'done')
console.log('result:', JSON.stringify(end.result))

// The first answer counts, in any process. A later caller gets an error that names the first answer.
const late = await session.resume({ ok: false }).catch((error: unknown) => error)
assert(late instanceof NotSuspendedError)
console.log('a second answer:', late.code)
assert.equal(payments.length, 1)

await second.close()
await store.close()
rmSync(folder, { recursive: true })
