import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../base/json.ts'
import { defineAgent } from '../define/define-agent.ts'
import { defineTool } from '../define/define-tool.ts'
import { scriptedModel } from '../testing/scripted-model.ts'
import type { ClientTool, ClientToolsOf } from './client-tools.ts'
import type { UseConversationOptions, UsedConversation } from './hooks.ts'

const locate = defineTool({
  name: 'locate',
  description: 'Find out where the user is',
  input: z.object({ accuracy: z.enum(['city', 'street']) }),
  executor: 'client',
  output: z.object({ latitude: z.number() }),
})
const refund = defineTool({
  name: 'refund',
  description: 'Pay back',
  input: z.object({ cents: z.number() }),
  approval: 'required',
  run: async () => null,
})
const support = defineAgent({ name: 'support', model: scriptedModel(() => ''), tools: [locate, refund] })

test('client tools have the arguments and results of the agent, and no tool of the server is among them', () => {
  type Tools = ClientToolsOf<typeof support>
  expectTypeOf<keyof Tools>().toEqualTypeOf<'locate'>()
  type Locate = NonNullable<Tools['locate']>
  expectTypeOf<Parameters<Locate>[0]>().toEqualTypeOf<{ accuracy: 'city' | 'street' }>()
  expectTypeOf<Awaited<ReturnType<Locate>>>().toEqualTypeOf<{ latitude: number }>()
  expectTypeOf<UseConversationOptions<typeof support>['agent']>().toEqualTypeOf<'support' | undefined>()
})

test('what waits is told apart by its tool', () => {
  type Waiting = UsedConversation<typeof support>['pending'][number]
  expectTypeOf<Extract<Waiting, { tool: 'refund' }>['args']>().toEqualTypeOf<{ cents: number }>()
  expectTypeOf<Waiting['tool']>().toEqualTypeOf<'locate' | 'refund'>()
})

test('without an agent, tools have any names and arguments are JSON', () => {
  expectTypeOf<NonNullable<UseConversationOptions['tools']>>().toEqualTypeOf<{ readonly [name: string]: ClientTool }>()
  expectTypeOf<Parameters<ClientTool>[0]>().toEqualTypeOf<Json>()
})
