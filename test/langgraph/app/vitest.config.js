import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: { include: ['*.spec.js'], globals: true, testTimeout: 60_000, hookTimeout: 60_000, fileParallelism: false },
})
