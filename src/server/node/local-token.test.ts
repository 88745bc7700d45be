import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { StudioSignIn } from '../studio/studio-sign-in.ts'
import { LocalSecrets, LocalToken, readLocalAccess } from './local-token.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-local-secrets-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function opened(hasOperators: boolean) {
  const file = join(folder, `${hasOperators}.json`)
  const token = new LocalToken(file, { hasOperators })
  await token.write('http://127.0.0.1:1')
  const signIn = new StudioSignIn({ hasOperators })
  return {
    access: await readLocalAccess(file),
    page: signIn.exchange(signIn.issue()),
    secrets: new LocalSecrets(token, signIn),
  }
}

const asking = (user: string, operator?: string): Request =>
  new Request('http://127.0.0.1/', {
    headers: {
      authorization: `Bearer ${user}`,
      ...(operator !== undefined && { 'perdure-operator': `Bearer ${operator}` }),
    },
  })

test('the secrets of the file and of a page act alike, each for its own kind', async () => {
  const { access, page, secrets } = await opened(true)
  for (const { token, operatorToken = '' } of [access, page]) {
    expect([secrets.isOfUser(token), secrets.isOfOperator(token)]).toEqual([true, false])
    expect([secrets.isOfUser(operatorToken), secrets.isOfOperator(operatorToken)]).toEqual([false, true])
  }
})

test('only the holder of the file gets a code: not a page, and not with one secret of the two', async () => {
  const { access, page, secrets } = await opened(true)
  expect(secrets.mayIssue(asking(access.token, access.operatorToken))).toBe(true)
  expect(secrets.mayIssue(asking(access.token))).toBe(false)
  expect(secrets.mayIssue(asking(access.operatorToken!, access.operatorToken))).toBe(false)
  expect(secrets.mayIssue(asking(page.token, page.operatorToken))).toBe(false)
  expect(secrets.mayIssue(asking(page.token, access.operatorToken))).toBe(false)
})

test('where there are no operators, the secret of the user is enough', async () => {
  const { access, page, secrets } = await opened(false)
  expect([secrets.mayIssue(asking(access.token)), secrets.mayIssue(asking(page.token))]).toEqual([true, false])
})
