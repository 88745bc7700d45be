import { expect, test } from 'vitest'
import { said } from '../../../test/log/story.ts'
import { acting, conversationId as id, owningConversation } from '../../../test/support/owned-conversation.ts'
import { StoreError } from '../../base/errors/store-errors.ts'
import { drive } from './drive.ts'

test('closing stops what runs, records it as its tool says, and leaves the conversation due', async () => {
  for (const [ifInterrupted, recorded] of [
    ['report', ['tool_result']],
    ['rerun', []],
  ] as const) {
    const { agent, stopped } = acting(ifInterrupted)
    const { owner, pass, commits, types } = await owningConversation(agent, [said('t1')])
    const driving = drive(owner)
    await pass(0)
    await owner.close()
    expect(owner.isClosing).toBe(true)
    await owner.close()
    await driving
    expect(stopped).toEqual([1])
    expect(commits.at(-1)).toMatchObject({ wakeAt: 'now', lease: 'release' })
    expect((await types()).slice(4)).toEqual(recorded)
  }
})

test('a result that is in hand when it closes is recorded as it is', async () => {
  const { agent, runs } = acting()
  const { owner, pass, store } = await owningConversation(agent, [said('t1')])
  const driving = drive(owner)
  await pass(0)
  runs[0]!.resolve('acted')
  await Promise.resolve()
  await new Promise((resolve) => setImmediate(resolve))
  await owner.close()
  await driving
  const result = (await store.streamEvents(id)).find(({ type }) => type === 'tool_result')
  expect(result?.content).toMatchObject({ ok: true, result: 'acted' })
})

test('closing does not wait for a store that fails', async () => {
  const { agent } = acting()
  const { owner, pass, meddle, types } = await owningConversation(agent, [said('t1')])
  const driving = drive(owner)
  await pass(0)
  meddle.commit = () => {
    throw new StoreError('away')
  }
  await owner.close()
  await driving
  expect(owner.isLost).toBe(true)
  expect(await types()).toHaveLength(4)
})

test('a call whose start is being committed when it closes is not run: it is told so, or left to be run again', async () => {
  for (const ifInterrupted of ['report', 'rerun'] as const) {
    const { agent, runs } = acting(ifInterrupted)
    const { owner, meddle, store, commits } = await owningConversation(agent, [said('t1')])
    meddle.commit = async ({ events }) => {
      if (events.some(({ type }) => type === 'tool_started')) await owner.close()
    }
    await drive(owner)
    expect(runs).toEqual([])
    expect(commits.at(-1)).toMatchObject({ wakeAt: 'now', lease: 'release' })
    const result = (await store.streamEvents(id)).find(({ type }) => type === 'tool_result')
    if (ifInterrupted === 'rerun') expect(result).toBe(undefined)
    else expect(result?.content).toMatchObject({ ok: false, error: expect.stringContaining('it was not run') })
  }
})

test('a call whose start is committed after it was lost is not run', async () => {
  const { agent, runs } = acting()
  const { owner, meddle, types } = await owningConversation(agent, [said('t1')])
  meddle.commit = ({ events }) => {
    if (events.some(({ type }) => type === 'tool_started')) owner.loseLease()
  }
  await drive(owner)
  expect([runs, owner.isLost]).toEqual([[], true])
  expect(await types()).toHaveLength(4)
})

test('closing what is lost does nothing', async () => {
  const { agent } = acting()
  const { owner } = await owningConversation(agent, [said('t1')])
  owner.loseLease()
  await owner.close()
  expect(owner.isClosing).toBe(false)
})
