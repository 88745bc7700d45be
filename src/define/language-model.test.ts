import { describe, expect, test } from 'vitest'
import { isLanguageModel, type LanguageModel, modelRef } from './language-model.ts'

const model = { specificationVersion: 'v4', provider: 'p', modelId: 'm', doStream: () => {} }

describe('isLanguageModel', () => {
  test('knows both specifications by their shape', () => {
    expect(isLanguageModel(model)).toBe(true)
    expect(isLanguageModel({ ...model, specificationVersion: 'v3' })).toBe(true)
  })

  test.each([
    ['an older specification', { ...model, specificationVersion: 'v2' }],
    ['a model that cannot stream', { ...model, doStream: undefined }],
    ['a model without a provider', { ...model, provider: undefined }],
    ["a gateway's model id", 'anthropic/claude'],
    ['nothing', undefined],
    ['null', null],
  ])('refuses %s', (_, value) => {
    expect(isLanguageModel(value)).toBe(false)
  })
})

test('a model without a name still has one in the log', () => {
  const nameless = { ...model, provider: undefined, modelId: 7 } as unknown as LanguageModel
  expect(modelRef(nameless)).toEqual({ provider: 'unknown', modelId: 'unknown' })
})
