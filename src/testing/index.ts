export { type FakeClock, fakeClock, untilState } from './fake-clock.ts'
export {
  type ModelScript,
  type ScriptedError,
  type ScriptedModelCall,
  type ScriptedModelOptions,
  type ScriptedToolCall,
  type Step,
  scriptedModel,
} from './scripted-model.ts'
export {
  type Matchers,
  type StoreUnderTest,
  type TestClock,
  type TestFunction,
  type TestRunner,
  testStore,
} from './test-store.ts'
export { expectStablePrefix, type PromptProvider, type StablePrefixOptions, validatePrompt } from './validate-prompt.ts'
