import { expect, test } from 'vitest'
import { said } from '../../../test/log/story.ts'
import { conversationId as id, owningConversation } from '../../../test/support/owned-conversation.ts'
import { defineAgent } from '../../define/define-agent.ts'
import { scriptedModel } from '../../testing/scripted-model.ts'
import { drive } from './drive.ts'

test('an object that cannot be judged by its schema fails the turn, and is told of with what was too much', async () => {
  const agent = defineAgent({ name: 'talker', model: scriptedModel('"aaa"') })
  const output = { type: 'string', pattern: '^(a)\\1a$' }
  const { owner, told, fields, store } = await owningConversation(agent, [said('t1', { output })])
  await drive(owner)
  expect(told).toEqual(['warn: an object could not be checked against its schema'])
  expect(fields).toEqual([
    {
      tenant: 'default',
      id,
      turnId: 't1',
      problem: expect.stringContaining("the pattern '^(a)\\1a$' has back references"),
    },
  ])
  expect((await store.streamEvents(id)).at(-1)).toMatchObject({ type: 'turn_ended', content: { status: 'failed' } })
})

test('an object that does not fit is asked for again without a warning', async () => {
  const answers = ['"no"', '1']
  const agent = defineAgent({ name: 'talker', model: scriptedModel(() => answers.shift()!) })
  const { owner, told, types } = await owningConversation(agent, [said('t1', { output: { type: 'number' } })])
  await drive(owner)
  expect(told).toEqual([])
  expect(await types()).toEqual(['user_msg', 'assistant_msg', 'regeneration', 'assistant_msg', 'turn_ended'])
})
