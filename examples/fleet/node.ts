/** One node of the fleet, in a process of its own: it serves requests and runs turns. All nodes are equal. */
import { createRuntime, defineAgent } from 'perdure'
import { postgresStore } from 'perdure/postgres'
import { serve } from 'perdure/server'
import { scriptedModel } from 'perdure/testing'

const [name = '', connectionString = ''] = process.argv.slice(2)

// A provider that hangs in the middle of a story, until the program that started this node says that it is well.
let isProviderWell = false

// Replace it with any AI SDK model.
const model = scriptedModel(({ prompt }) => {
  const isStory = JSON.stringify(prompt).includes('story')
  if (!isStory) return name
  const text = ['Once upon ', 'a time ', 'a node died, ', `and ${name} went on.`]
  return isProviderWell ? { text } : { text, stallAfter: 2 }
})
const helper = defineAgent({ name: 'helper', model })
// Tells operators which process this is.
const label = defineAgent({ name: `only-${name}`, model })

const store = postgresStore({ connectionString, max: 4 })
// Short, so that the others notice soon that a node has died.
const runtime = createRuntime({ agents: [helper, label], store, leaseMs: 2_000 })
const server = await serve(runtime, { port: 0 })

process.on('message', (message) => {
  if (message !== 'the provider is well') return
  isProviderWell = true
  process.send?.('understood')
})
async function close(): Promise<void> {
  await server.close()
  await runtime.close()
  await store.close()
  if (process.connected) process.disconnect()
}
process.once('SIGTERM', close)
// After that, or when the program that started it is gone.
process.once('disconnect', () => process.exit())
process.send?.(server.port)
