import type { fromJsonSchema as FromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import type { Client } from '../../client/create-client.ts'

const mostListed = 50

/** The inbox as two tools. What a caller may see and answer is decided by the routes behind the client. */
export function addInbox(
  server: McpServer,
  client: Pick<Client, 'inbox' | 'conversation'>,
  fromJsonSchema: typeof FromJsonSchema,
): void {
  server.registerTool(
    'list_waiting',
    {
      description: 'List what waits for a person: approvals and questions of agents, the newest first',
      inputSchema: fromJsonSchema<{ before?: string }>({
        type: 'object',
        properties: { before: { type: 'string', description: 'From an earlier result, for the next page' } },
        additionalProperties: false,
      }),
      annotations: { readOnlyHint: true },
    },
    async ({ before }) => {
      const page = await client.inbox({ limit: mostListed, ...(before === undefined ? {} : { before }) })
      return { content: [{ type: 'text', text: JSON.stringify(page) }], structuredContent: { ...page } }
    },
  )
  server.registerTool(
    'answer_waiting',
    {
      description:
        'Answer something that waits: true or false for an approval, else the value that was asked for. Only one answer counts; the result says whose.',
      inputSchema: fromJsonSchema<{ conversation: string; callId: string; round?: number; value: unknown }>({
        type: 'object',
        properties: {
          conversation: { type: 'string', minLength: 1 },
          callId: { type: 'string', minLength: 1 },
          round: { type: 'integer', minimum: 1 },
          value: { description: 'JSON' },
        },
        required: ['conversation', 'callId', 'value'],
        additionalProperties: false,
      }),
      // A person's word lets tools run.
      annotations: { destructiveHint: true, idempotentHint: true },
    },
    async ({ conversation, callId, round = 1, value }) => {
      try {
        const answered = await client.conversation(conversation).resolve({ callId, round }, value)
        return { content: [{ type: 'text', text: JSON.stringify(answered) }], structuredContent: { ...answered } }
      } catch (error) {
        if (!PerdureError.isInstance(error)) throw error
        return { content: [{ type: 'text', text: error.message }], isError: true }
      }
    },
  )
}
