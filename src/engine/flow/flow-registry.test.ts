import { expect, test } from 'vitest'
import { defineFlow, sessionAgent } from '../../define/define-flow.ts'
import { FlowRegistry } from './flow-registry.ts'

const flow = (name: string, version: number, compatible: readonly number[] = []) =>
  defineFlow({ name, version, compatible: compatible.map(String), run: async () => null })

const [a1, a2, a3, b1] = [flow('a', 1), flow('a', 2, [0, 9]), flow('a', 3, [0]), flow('b', 1)]
const flows = new FlowRegistry([a1, a2, a3, b1])

test('a bare name finds the newest, which is the one given last; a flow finds the one of its version', () => {
  expect(flows.find('a')).toBe(a3)
  expect(flows.find('b')).toBe(b1)
  expect(flows.find({ name: 'a', version: '2' })).toBe(a2)
})

test('a name or version that is not there is refused, and those that are there are told', () => {
  const refused = expect.objectContaining({ code: 'no_such_flow', message: expect.stringContaining('a 1') })
  expect(() => flows.find('c')).toThrow(refused)
  expect(() => flows.find({ name: 'a', version: '4' })).toThrow(refused)
  expect(() => flows.replaying('s1', { flow: 'c', version: '1' })).toThrow(refused)
})

test('a record is replayed by the code of its own version, else by the newest that says it can', () => {
  expect(flows.replaying('s1', { flow: 'a', version: '1' })).toBe(a1)
  expect(flows.replaying('s1', { flow: 'a', version: '0' })).toBe(a3)
  expect(flows.replaying('s1', { flow: 'a', version: '9' })).toBe(a2)
  expect(() => flows.replaying('s1', { flow: 'a', version: '8' })).toThrow(
    expect.objectContaining({ code: 'flow_diverged', message: expect.stringContaining('1, 2, 3') }),
  )
})

test('two of the same name and version are refused', () => {
  expect(() => new FlowRegistry([a1, a2, flow('a', 1)])).toThrow("two flows 'a' of version '1'")
})

test('sessions have the names of their flows in the store, each once', () => {
  expect(flows.sessionAgents()).toEqual([sessionAgent('a'), sessionAgent('b')])
})
