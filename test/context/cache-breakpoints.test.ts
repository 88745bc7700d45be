import { expect, test } from 'vitest'
import { noReduction } from '../../src/prompt/budget/reduce.ts'
import { renderContext } from '../../src/prompt/render/render-context.ts'
import { called, ended, replied, said, stateOf, succeeded } from '../log/story.ts'
import { captureRequest, modelOf } from './capture-request.ts'

type Block = { readonly type: string; readonly text?: string; readonly cache_control?: unknown }
type Body = { readonly system: readonly Block[]; readonly messages: readonly { readonly content: readonly Block[] }[] }

const twoTurns = stateOf([
  said('t1'),
  replied('t1', 'm1', 1),
  ended('t1'),
  said('t2'),
  replied('t2', 'm2', 4, { calls: ['c1'] }),
  called('c1', { turnId: 't2' }),
  succeeded('c1'),
])
const injections = [{ type: 'text' as const, text: 'it is raining' }]

async function markedBlocks(options: Parameters<typeof renderContext>[1]): Promise<(string | undefined)[]> {
  const body = (await captureRequest('anthropic', renderContext(twoTurns, options))) as Body
  const blocks = [...body.system, ...body.messages.flatMap((message) => message.content)]
  return blocks.filter((block) => block.cache_control).map((block) => block.text?.split('\n')[0] ?? block.type)
}

test('Anthropic is told to cache up to the end of the instructions, and up to the end of what is in the log', async () => {
  const model = modelOf.anthropic
  expect(await markedBlocks({ system: 'Be brief.', model, injections })).toEqual(['Be brief.', 'tool_result'])
})

test('the summary is cached with the instructions', async () => {
  const summary = { toSeq: 3, version: 1, text: 'they met' }
  const reduction = { ...noReduction, summary }
  expect(await markedBlocks({ system: 'Be brief.', model: modelOf.anthropic, reduction })).toEqual([
    'Summary of the conversation so far, in place of its earlier messages:',
    'tool_result',
  ])
})

test('others find the common prefix by themselves and are told nothing', async () => {
  const prompt = renderContext(twoTurns, { system: 'Be brief.', model: modelOf['openai responses'], injections })
  expect(JSON.stringify(prompt)).not.toContain('cacheControl')
})
