import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { demoLives } from './demo-lives.ts'
import { perdure } from './perdure.ts'
import { keys } from './start-in-terminal.ts'

const lives = demoLives()

type Asked = { readonly model: string; readonly tools: { readonly function: { readonly name: string } }[] }

/** Speaks as an OpenAI-compatible server does, and says the same to everybody. */
async function compatibleServer(words: readonly string[]) {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    asked.push((await json(request)) as Asked)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const chunk = (choice: object) =>
      `data: ${JSON.stringify({ id: 'r1', created: 1, model: 'm', choices: [{ index: 0, ...choice }] })}\n\n`
    for (const content of words) response.write(chunk({ delta: { role: 'assistant', content }, finish_reason: null }))
    response.end(`${chunk({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked, close: () => server.close() }
}

test('with PERDURE_BASE_URL a real model plays the same agent', { timeout: 60_000 }, async () => {
  const server = await compatibleServer(['Greetings ', 'from the wire.'])
  try {
    const demo = lives.live('quick', { PERDURE_BASE_URL: server.url, PERDURE_MODEL: 'llama-9' })
    await demo.shows('llama-9 at http://127.0.0.1')
    await demo.shows('›')
    demo.type(`refund order 1234${keys.enter}`)
    await demo.shows('support › Greetings from the wire.')
    expect(server.asked).toHaveLength(1)
    expect(server.asked[0]?.model).toBe('llama-9')
    expect(server.asked[0]?.tools.map((tool) => tool.function.name)).toContain('refund')
  } finally {
    server.close()
  }
})

test('without a terminal the script plays its story, whatever the environment has', { timeout: 60_000 }, async () => {
  const env = { PERDURE_BASE_URL: 'http://127.0.0.1:1/v1', PERDURE_DEMO_PACE: '0' }
  const { code, stdout } = await perdure(['demo', '--json'], { cwd: lives.folder(), env })
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ payments: [{ orderId: '1234' }] })
})
