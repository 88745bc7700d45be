import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { toNodeListener } from '../../src/server/node/to-node-listener.ts'

/** What the server did, by tool. */
export type Effects = string[]

/** A server made with the official package: a tool of each kind. */
export function officialServer(effects: Effects, extra: readonly string[] = []): McpServer {
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] })
  server.registerTool(
    'find',
    { description: 'Find shoes', inputSchema: z.object({ text: z.string() }), annotations: { readOnlyHint: true } },
    async ({ text: looked }) => {
      effects.push(`find ${looked}`)
      return text(`found ${looked}`)
    },
  )
  server.registerTool(
    'price',
    {
      description: 'The price of shoes',
      inputSchema: z.object({}),
      outputSchema: z.object({ cents: z.number() }),
      annotations: { idempotentHint: true, destructiveHint: false },
    },
    async () => ({ ...text('{"cents":4200}'), structuredContent: { cents: 4200 } }),
  )
  server.registerTool(
    'picture',
    { description: 'A picture', inputSchema: z.object({}), annotations: { readOnlyHint: true } },
    async () => ({
      content: [
        { type: 'text', text: 'Here:' },
        { type: 'image', data: Buffer.from('png!').toString('base64'), mimeType: 'image/png' },
        { type: 'resource_link', uri: 'https://example.com/shoe', name: 'shoe' },
      ],
    }),
  )
  server.registerTool('buy', { description: 'Buy shoes', inputSchema: z.object({}) }, async () => {
    effects.push('buy')
    return text('bought')
  })
  server.registerTool(
    'fail',
    { description: 'Fails', inputSchema: z.object({}), annotations: { readOnlyHint: true } },
    async () => ({ ...text('the shop is closed'), isError: true }),
  )
  server.registerTool(
    'slow',
    { description: 'Takes long', inputSchema: z.object({}), annotations: { destructiveHint: false } },
    async (_, ctx) => {
      const { progressToken } = ctx.mcpReq._meta ?? {}
      if (progressToken !== undefined) {
        const params = { progressToken, progress: 1, total: 2, message: 'half' }
        await ctx.mcpReq.notify({ method: 'notifications/progress', params })
      }
      effects.push('slow began')
      await new Promise((resolve) => {
        ctx.mcpReq.signal.addEventListener('abort', resolve)
        setTimeout(resolve, 60_000).unref()
      })
      effects.push(ctx.mcpReq.signal.aborted ? 'slow was cancelled' : 'slow ended')
      return text('ended')
    },
  )
  server.registerTool(
    'order',
    { description: 'Order shoes', inputSchema: z.object({}), annotations: { destructiveHint: false } },
    async (_, ctx) => {
      const size = acceptedContent<{ size: number }>(ctx.mcpReq.inputResponses, 'size')
      if (!size) {
        const response = ctx.mcpReq.inputResponses?.['size'] as { action?: string } | undefined
        if (response?.action === 'decline') return text('not ordered')
        const requestedSchema = {
          type: 'object' as const,
          properties: { size: { type: 'integer' as const, minimum: 30 } },
          required: ['size'],
        }
        const elicitation = inputRequired.elicit({ message: 'Which size?', requestedSchema })
        return inputRequired({ inputRequests: { size: elicitation }, requestState: 'cart-17' })
      }
      effects.push(`order ${size.size} ${ctx.mcpReq.requestState()}`)
      return text(`ordered ${size.size}`)
    },
  )
  for (const name of extra) {
    const annotations = { readOnlyHint: true }
    server.registerTool(name, { description: name, inputSchema: z.object({}), annotations }, async () => text(name))
  }
  return server
}

export type Served = {
  readonly url: string
  readonly headers: string[]
  sayToolsChanged(): void
  close(): Promise<void>
}

/** Serves it over streamable HTTP on a real socket. `headers`: the `authorization` of each request. */
export async function serveOfficial(effects: Effects, extra: () => readonly string[] = () => []): Promise<Served> {
  const handler = createMcpHandler(() => officialServer(effects, extra()))
  const headers: string[] = []
  const listener = toNodeListener((request) => {
    headers.push(request.headers.get('authorization') ?? '')
    return handler.fetch(request)
  })
  const http = createServer(listener)
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    headers,
    sayToolsChanged: () => handler.notify.toolsChanged(),
    close: async () => {
      await handler.close()
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}
