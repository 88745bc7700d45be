import { expect, test } from 'vitest'
import { loadPg } from './connection.ts'

test('without pg the error says what to install', async () => {
  const missing = new Error("Cannot find package 'pg'")
  const loading = loadPg(() => Promise.reject(missing))
  await expect(loading).rejects.toMatchObject({ code: 'missing_dependency', cause: missing })
  await expect(loading).rejects.toThrow('npm install pg')
})
