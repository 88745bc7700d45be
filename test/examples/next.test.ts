import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'perdure-next-'))
process.env['PERDURE_DB'] = join(folder, 'chats.db')
process.env['NEXT_RUNTIME'] = 'nodejs'

// As Next.js does: `npm run product` shows the same in Next.js itself.
const { register } = await import('../../examples/next/instrumentation.ts')
const { GET, POST } = await import('../../examples/next/app/api/agents/[...path]/route.ts')
const { runtime } = await import('../../examples/next/lib/runtime.ts')

afterAll(async () => {
  await runtime.close()
  rmSync(folder, { recursive: true })
})

const neededOption = '"allowImportingTsExtensions": true'

test('the route answers with the runtime that the server has started', async () => {
  await register()
  const sent = await POST(
    new Request('http://localhost:3000/api/agents/conversations/c1/messages', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ agent: 'support', message: 'A refund, please' }),
    }),
  )
  expect(sent.status).toBe(202)
  const { turnId } = (await sent.json()) as { turnId: string }
  const outcome = `http://localhost:3000/api/agents/conversations/c1/turns/${turnId}/outcome?waitMs=20000`
  expect(await (await GET(new Request(outcome))).json()).toMatchObject({ status: 'waiting' })
  const [item] = await (await runtime.get()).inbox()
  expect(item).toMatchObject({ conversationId: 'c1', agent: 'support' })
})

test('the guide shows the files of the app, and pieces of other examples, as they are', () => {
  const root = join(import.meta.dirname, '..', '..')
  const guide = readFileSync(join(root, 'docs', 'frameworks.md'), 'utf8')
  const shown = [...guide.matchAll(/^```tsx\n\/\/ (\S+\.ts)\n(.*?)^```$/gms)]
  expect(shown.map(([, file]) => file)).toContain('instrumentation.ts')
  for (const [, file, text] of shown) expect(text).toBe(readFileSync(join(root, 'examples', 'next', file!), 'utf8'))
  // `create-next-app` does not set it, and the imports of these files need it.
  expect(readFileSync(join(root, 'examples', 'next', 'tsconfig.json'), 'utf8')).toContain(neededOption)
  expect(guide).toContain(neededOption)
  // What it shows of a file alone is in an example, which is run.
  const pieces = [...guide.matchAll(/^```tsx\n(?!\/\/ )(.*?)^```$/gms)].map(([, piece]) => piece!)
  const texts = ['next/app/chat.tsx', 'express.ts', 'fastify.ts'].map((file) =>
    readFileSync(join(root, 'examples', file), 'utf8'),
  )
  expect(pieces.filter((piece) => !texts.some((text) => text.includes(piece)))).toEqual([])
  expect(pieces).toHaveLength(3)
})
