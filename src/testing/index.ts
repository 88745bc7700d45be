export { expectStablePrefix, type StablePrefixOptions } from './expect-stable-prefix.ts'
export { type FakeClock, fakeClock } from './fake-clock.ts'
export {
  type ModelScript,
  type ScriptedModelCall,
  type ScriptedModelOptions,
  scriptedModel,
} from './scripted-model.ts'
export type { ScriptedError, ScriptedToolCall, Step } from './scripted-model-step.ts'
export type { Matchers, TestFunction, TestRunner } from './test-runner.ts'
export { type StoreUnderTest, type TestClock, testStore } from './test-store.ts'
export { untilState } from './until-state.ts'
export { validatePrompt } from './validate-prompt.ts'
export type { PromptProvider } from './validate-prompt-rules.ts'
