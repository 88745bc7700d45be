import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { perdure } from './perdure.ts'
import { openWorld, type World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await openWorld()
  await world.say('open', 'A refund, please')
})

afterAll(() => world.close())

/** A config of the world's store with this as its agents. */
function configWith(name: string, agents: string): string[] {
  const file = join(world.folder, `${name}.config.mjs`)
  writeFileSync(
    file,
    `import { agents } from '${join(import.meta.dirname, 'agents.ts')}'\nexport default { agents: ${agents}, store: './agents.db' }\n`,
  )
  return ['preflight', '--config', file]
}

const linesOf = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

test('preflight ends with 0 where the code can go on with everything', async () => {
  const { stdout, code: exitCode } = await perdure(configWith('same', 'agents'))
  expect(stdout).toMatch(/^Checked 1 open conversations and sessions in .*agents\.db: 0 errors, 0 warnings\.$/m)
  expect(exitCode).toBe(0)
})

test('preflight ends with 1 where it cannot, and says why in lines of JSON', async () => {
  const before = await world.store.streamEvents('open')
  const { stdout, code: exitCode } = await perdure([...configWith('none', '[]'), '--json'])
  expect(exitCode).toBe(1)
  expect(linesOf(stdout)).toMatchObject([
    { type: 'finding', kind: 'agent_missing', level: 'error', tenant: 'default', id: 'open', agent: 'support' },
    { type: 'preflight', checked: 1, errors: 1, warnings: 0 },
  ])
  expect(await world.store.streamEvents('open')).toEqual(before)
})

test('preflight needs a config', async () => {
  const { stderr, code: exitCode } = await perdure(['preflight', '--store', world.file])
  expect(stderr).toContain('preflight compares its agents and flows with the store')
  expect(exitCode).toBe(2)
})
