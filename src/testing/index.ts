export { type FakeClock, fakeClock } from './fake-clock.ts'
export type { Matchers, TestFunction, TestRunner } from './test-runner.ts'
export { type StoreUnderTest, type TestClock, testStore } from './test-store.ts'
