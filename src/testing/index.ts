export { type FakeClock, fakeClock, untilState } from './fake-clock.ts'
export {
  type ModelScript,
  type ScriptedModelCall,
  type ScriptedModelOptions,
  scriptedModel,
} from './scripted-model.ts'
export type { ScriptedError, ScriptedToolCall, Step } from './scripted-model-step.ts'
export type { Matchers, TestFunction, TestRunner } from './test-store.ts'
export { type StoreUnderTest, type TestClock, testStore } from './test-store.ts'
export type { PromptProvider } from './validate-prompt.ts'
export { expectStablePrefix, type StablePrefixOptions, validatePrompt } from './validate-prompt.ts'
