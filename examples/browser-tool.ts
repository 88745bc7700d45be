/**
 * A tool that runs in the browser: the model asks where the user is, and the page answers. The part under 'In the
 * browser' is the code of the page; it needs only `perdure/client`.
 */
import assert from 'node:assert/strict'
import { createRuntime, defineAgent, defineTool, memoryStore } from 'perdure'
import { createClient, type Json, type PendingItem } from 'perdure/client'
import { serve } from 'perdure/server'
import { scriptedModel } from 'perdure/testing'
import { z } from 'zod'

// On the server: a client tool has no `run`; its `output` describes the answer. Everything that a page sends is checked
// against it.
const locate = defineTool({
  name: 'locate',
  description: 'Find out where the user is',
  input: z.object({ accuracy: z.enum(['city', 'street']) }),
  executor: 'client',
  output: z.object({ latitude: z.number(), longitude: z.number() }),
  expiresInMs: 60_000,
})
const model = scriptedModel(({ n, prompt }) => {
  if (n === 1) return { calls: [{ tool: 'locate', args: { accuracy: 'city' } }] }
  return JSON.stringify(prompt).includes('48.2') ? 'You are in Vienna.' : 'I do not know where you are.'
})
const guide = defineAgent({ name: 'guide', model, tools: [locate] })
const store = memoryStore()
const runtime = createRuntime({ agents: [guide], store })
const server = await serve(runtime, { port: 0 })

// In the browser: one function per client tool.
type ClientTool = (args: Json) => Promise<Json>
const clientTools: Record<string, ClientTool> = {
  locate: async () => {
    const { coords } = await currentPosition()
    return { latitude: coords.latitude, longitude: coords.longitude }
  },
}

const client = createClient({ url: server.url })
const chat = client.conversation('walk-1', { agent: 'guide' })
const { turnId } = await chat.send('Where am I?')

const answered = new Set<string>()
for await (const view of chat.views()) {
  for (const item of view.pending) {
    // A view comes after every event, so the same item appears more than once.
    const isNew = item.kind === 'client_exec' && !answered.has(item.callId)
    if (!isNew) continue
    answered.add(item.callId)
    await answerInBrowser(item)
  }
  if (view.log.turns.some((turn) => turn.turnId === turnId && turn.end)) break
}

async function answerInBrowser(item: PendingItem): Promise<void> {
  const run = clientTools[item.tool]
  // An error is an answer too: the model reads it, and the turn continues.
  const answer = run
    ? await run(item.args).then(
        (result) => ({ ok: true, result }),
        (error: Error) => ({ ok: false, error: error.message }),
      )
    : { ok: false, error: `this page has no tool '${item.tool}'` }
  const { accepted } = await chat.answer(item, answer)
  // With two tabs open, both may run it. The first answer counts, and the other tab learns that it was late.
  console.log(`${item.tool} ran in the browser; the answer was ${accepted ? 'accepted' : 'late'}`)
  const second = await chat.answer(item, answer)
  assert.equal(second.accepted, false)
  console.log('the same answer from another tab came too late')
}

const outcome = await chat.outcome(turnId)
assert(outcome.status === 'completed')
console.log(`answer: ${outcome.text}`)

await server.close()
await runtime.close()
await store.close()

/** Stands for `navigator.geolocation`, which Node does not have. */
async function currentPosition(): Promise<{ coords: { latitude: number; longitude: number } }> {
  return { coords: { latitude: 48.2, longitude: 16.37 } }
}
