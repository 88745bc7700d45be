import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type AgentState, readState, updateState } from './agent-state.ts'

const where = { agent: 'a', conversationId: 'c1' }
const list = z.object({ items: z.array(z.string()).default([]), plan: z.string().optional() })
const part = { schema: z.object({ n: z.number() }), initial: { n: 0 } }

function defined(more: Partial<AgentState> = {}): AgentState {
  return { schema: list, parts: new Map([['part', part]]), initial: {}, exposed: [], migrate: null, ...more }
}

describe('reading', () => {
  test('gives what the schemas make of the state, and the initial parts of extensions', async () => {
    expect(await readState(defined(), undefined, where)).toEqual({ items: [], part: { n: 0 } })
    expect(await readState(defined(), { items: ['a'] }, where)).toEqual({ items: ['a'], part: { n: 0 } })
    expect(await readState(defined(), { part: { n: 2 } }, where)).toEqual({ items: [], part: { n: 2 } })
  })

  test('converts what does not match once, and tells why it cannot', async () => {
    const old = { items: 'a,b' }
    let runs = 0
    const migrate = (state: { items?: unknown }) => {
      runs += 1
      return { items: String(state.items).split(',') }
    }
    const definition = defined({ migrate: migrate as never })
    expect(await readState(definition, old, where)).toMatchObject({ items: ['a', 'b'] })
    expect(await readState(definition, old, where)).toMatchObject({ items: ['a', 'b'] })
    expect(runs).toBe(1)
    await expect(readState(defined(), old, where)).rejects.toThrow(
      /^The state of 'c1' does not match the schema of the agent 'a': items/,
    )
    const throws = defined({
      migrate: () => {
        throw new Error('no idea')
      },
    })
    await expect(readState(throws, old, where)).rejects.toThrow(/migrateState threw .*no idea/)
    await expect(readState(defined({ migrate: () => ({ items: 7 }) }), old, where)).rejects.toThrow(
      'does not match either',
    )
  })

  test('says which extension a wrong part belongs to', async () => {
    await expect(readState(defined(), { part: { n: 'x' } }, where)).rejects.toThrow(/part: n/)
  })
})

describe('updating', () => {
  test('applies changes in their order and gives the difference to what is in the log', async () => {
    const { patch, state } = await updateState(
      defined(),
      { items: ['a'], plan: 'p' },
      [{ items: ['b'] }, (now) => ({ items: [...(now['items'] as string[]), 'c'], plan: undefined })],
      where,
    )
    expect(state).toEqual({ items: ['b', 'c'], part: { n: 0 } })
    expect(patch).toEqual({ set: { items: ['b', 'c'], part: { n: 0 } }, remove: ['plan'] })
  })

  test('gives no difference when nothing changes', async () => {
    const values = { items: ['a'], part: { n: 1 } }
    expect((await updateState(defined(), values, [{ items: ['a'] }], where)).patch).toBeNull()
  })

  test('never changes the state that it was given', async () => {
    const values = { items: ['a'], part: { n: 1 } }
    await updateState(defined(), values, [(now) => ({ ...now, plan: 'x' })], where)
    expect(values).toEqual({ items: ['a'], part: { n: 1 } })
  })
})
