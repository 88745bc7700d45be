import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../define/define-tool.ts'
import { modelTools } from './prepare-call.ts'

test('a model is told the name, the description and the arguments of a tool', () => {
  const tool = defineTool({
    name: 'find',
    description: 'Find it',
    input: z.object({ id: z.string() }),
    strict: true,
    providerOptions: { anthropic: { deferLoading: true } },
    run: () => 1,
  })
  expect(modelTools([tool])).toEqual([
    {
      type: 'function',
      name: 'find',
      description: 'Find it',
      inputSchema: expect.objectContaining({ type: 'object', required: ['id'] }),
      strict: true,
      providerOptions: { anthropic: { deferLoading: true } },
    },
  ])
})

test('a tool of the provider is told by its id', () => {
  const named = defineTool({ executor: 'provider', name: 'search', id: 'openai.web_search', args: { size: 'low' } })
  const unnamed = defineTool({ executor: 'provider', name: 'bash' })
  expect(modelTools([named, unnamed], 'anthropic.messages')).toEqual([
    { type: 'provider', name: 'search', id: 'openai.web_search', args: { size: 'low' } },
    { type: 'provider', name: 'bash', id: 'anthropic.bash', args: {} },
  ])
})
