import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'
import { officialServer } from '../official-server.ts'

/** The official server on standard input and output. Its tool `grow` adds the tool `grown`, and the server says so. */
serveStdio(() => {
  const server = officialServer([])
  const tool = { inputSchema: z.object({}), annotations: { readOnlyHint: true } }
  const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] })
  server.registerTool('grow', tool, async () => {
    server.registerTool('grown', tool, async () => text('new here'))
    return text('grew')
  })
  return server
})
