import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeFolder } from './local-token.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-make-folder-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('a folder is created with its missing parents, also by several callers at once, and an existing one is left alone', async () => {
  const path = join(folder, 'a', 'b', 'c')
  await Promise.all(Array.from({ length: 5 }, () => makeFolder(path, { mode: 0o700 })))
  expect([join(folder, 'a'), path].map((made) => statSync(made).mode & 0o777)).toEqual([0o700, 0o700])
  writeFileSync(join(path, 'kept'), '')
  await makeFolder(path)
  expect(existsSync(join(path, 'kept'))).toBe(true)
  await makeFolder('/')
})

test('a file in the way is told as what it is', async () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  await expect(makeFolder(file)).rejects.toMatchObject({ code: 'EEXIST' })
  await expect(makeFolder(join(file, 'a'))).rejects.toMatchObject({ code: 'ENOTDIR' })
  await expect(makeFolder(join(file, 'a', 'b'))).rejects.toMatchObject({ code: 'ENOTDIR' })
})

test.skipIf(!existsSync('/proc/self'))('a folder in one that takes none is refused at once', async () => {
  for (const path of ['/proc/perdure', '/proc/perdure/a/b']) {
    await expect(makeFolder(path)).rejects.toMatchObject({ code: 'ENOENT', syscall: 'mkdir' })
  }
})
