import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { commandLine } from './command-line.ts'

test('a line to type can be typed where this one was, and names the same target', () => {
  const args = { url: 'http://127.0.0.1:4111', 'token-file': 'a b.json' }
  expect(commandLine(['show', 'ticket-42'], args)).toBe(
    "npm run -s perdure -- show ticket-42 --url http://127.0.0.1:4111 --token-file 'a b.json'",
  )
})

test('a shell reads it as it was meant, whatever the ids are', () => {
  const words = ["it's", '$(reboot)', '`x`', '; rm -rf /', '"quoted"', 'a\\b', '*', 'ü🎈', '-n', '#x', '~']
  const line = commandLine(words, {}).replace('npm run -s perdure --', 'printf "%s\\n" --')
  expect(
    execFileSync('sh', ['-c', line.replace(' -- ', ' ')], { encoding: 'utf8' })
      .trimEnd()
      .split('\n'),
  ).toEqual(words)
})
