import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { demoLives, perdureProgram } from './demo-lives.ts'
import { perdure, repository, startPerdure } from './perdure.ts'
import { keys } from './start-in-terminal.ts'

const lives = demoLives()

beforeEach(async () => {
  const config = pathToFileURL(resolve('test/cli/chat-config.ts')).href
  await writeFile(join(lives.folder(), 'perdure.config.ts'), `export { config as default } from '${config}'\n`)
})

/** The model of the terminal throws on every sequence that the chat does not write itself: `shows` then fails. */
describe('a chat on a store', { timeout: 60_000 }, () => {
  test('shows what models, tools and arguments would do to a terminal, and does none of it', async () => {
    const chat = lives.start('chat', 'c1', '--agent', 'clerk')
    await chat.shows('›')
    chat.type(`hello${keys.enter}`)
    await chat.shows('Good morning \\x1b[2J\\x1b]0;owned\\x07')
    await chat.shows('\\u202etxt.exe')
    chat.type(`pay me${keys.enter}`)
    await chat.shows('thinks: thinking \\x1b[2J')
    await chat.shows(/pay needs approval: Pay\s+\\x1b\[2J/)
    await chat.shows('approve?')
    chat.type(`y${keys.enter}`)
    await chat.shows(/✗ pay: no funds\s+\\x1b\[2J/)
    await chat.shows('It says:')
    chat.type(keys.ctrlD)
    expect(await chat.exited()).toMatchObject({ exitCode: 0 })
    expect(chat.text()).toContain('Continue with: npm run -s perdure -- chat c1')
  })

  test('takes the only agent of the config, and shows tools of a client as such', async () => {
    const chat = lives.start('chat', 'c1')
    await chat.shows('c1 with clerk on')
    chat.type(`locate me${keys.enter}`)
    await chat.shows('locate waits for a client')
    await chat.shows('(r)esult · (f)ailed · (l)ater ›')
    chat.type(`r${keys.enter}`)
    await chat.shows(/city .* ›/)
    chat.type(`Basel${keys.enter}`)
    await chat.shows('✓ locate {"city":"Basel"}')
    await chat.shows('It says:')
  })

  test('asks what to do about an interrupted call that wants to be asked about', async () => {
    const first = lives.start('chat', 'c1')
    await first.shows('›')
    first.type(`deploy${keys.enter}`)
    await first.shows('deploying')
    await first.kill('SIGKILL')
    const second = lives.start('chat', 'c1')
    await second.shows('deploy was interrupted and asks what to do')
    await second.shows('(a)gain · (r)eport · (t)ell · (l)ater ›')
    second.type(`t${keys.enter}`)
    await second.shows('its result (JSON or text) ›')
    second.type(`{"version":7}${keys.enter}`)
    await second.shows('✓ deploy {"version":7}')
  })

  test.each([[[]], [['--agent', 'clerk']]])(
    'refuses to begin where no code could answer, and says where to find some (%s)',
    async (agent) => {
      const cwd = lives.folder()
      const without = ['chat', 'c1', ...agent, '--store', 'other.db']
      const missing = await perdure(without, { cwd, stdin: 'hello' })
      expect(missing.code).toBe(5)
      expect(missing.stderr).toContain('Check the path, or name the config of its agents with --config')
      expect(existsSync(join(cwd, 'other.db'))).toBe(false)
      const beside = ['--store', 'other.db', '--config', 'perdure.config.ts', '--json']
      expect((await perdure(['chat', 'c2', ...agent, ...beside], { cwd, stdin: 'hello' })).code).toBe(0)
      const { code, stderr } = await perdure(without, { cwd, stdin: 'hello' })
      expect(code).toBe(2)
      expect(stderr).toMatch(
        /^error The conversation 'c1' does not exist yet, and there is no config here with an agent/,
      )
      expect(stderr).toContain('name one with --config, or a running server with --url. Run: perdure chat --help')
    },
  )

  test('records the JSON of --data with each message', async () => {
    const cwd = lives.folder()
    const data = JSON.stringify({ locale: 'de' })
    expect((await perdure(['chat', 'c1', '--data', data], { cwd, stdin: 'hello\nhello' })).code).toBe(0)
    const { stdout } = await perdure(['export'], { cwd })
    expect(stdout.match(/"data":\{"locale":"de"\}/g)).toHaveLength(2)
    const wrong = await perdure(['chat', 'c1', '--data', 'de'], { cwd, stdin: 'hello' })
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--data is not JSON') })
  })

  test('without a terminal takes each line for a message', async () => {
    const args = [perdureProgram, 'chat', 'c1', '--json']
    const chat = spawn(process.execPath, args, { cwd: lives.folder(), stdio: ['pipe', 'pipe', 'inherit'] })
    chat.stdin.end('hello\nlocate me\n')
    const outcomes = []
    for await (const text of createInterface({ input: chat.stdout })) outcomes.push(JSON.parse(text))
    expect(outcomes).toMatchObject([{ status: 'completed' }, { status: 'waiting', pending: [{ tool: 'locate' }] }])
  })

  test('without a terminal an answer is whole before more is said, and Ctrl-C waits for it', async () => {
    const text = `import { agents } from '${repository}/test/cli/agents.ts'\nexport default { agents, store: 'slow.db' }\n`
    await writeFile(join(lives.folder(), 'perdure.config.ts'), text)
    const chat = startPerdure(['chat', 'c1'], { cwd: lives.folder() })
    chat.process.stdin.write('hello\n')
    await chat.until('Hello.')
    chat.process.stdin.write('Say it slowly\n')
    await chat.until('you › Say it slowly')
    chat.process.kill('SIGINT')
    expect(await chat.ended).toMatchObject({
      code: 130,
      stdout: expect.stringContaining('One two three four'),
      stderr: 'Finishing the running work; Ctrl-C again ends at once.\n',
    })
  })
})

describe('a chat on a server', { timeout: 60_000 }, () => {
  let server: ChildProcess

  async function serve(port: string): Promise<string> {
    const args = [perdureProgram, 'serve', '--port', port, '--json']
    server = spawn(process.execPath, args, { cwd: lives.folder(), stdio: ['ignore', 'pipe', 'inherit'] })
    const [told] = await once(createInterface({ input: server.stdout! }), 'line')
    return (JSON.parse(String(told)) as { url: string }).url
  }

  async function kill(): Promise<void> {
    const gone = once(server, 'exit')
    server.kill('SIGKILL')
    await gone
  }

  afterEach(async () => {
    if (server.exitCode === null && server.signalCode === null) await kill()
  })

  test('streams, asks, cancels, and is told who answered first', async () => {
    const url = await serve('0')
    const chat = lives.start('chat', 'c2', '--agent', 'clerk', '--url', url)
    await chat.shows('›')
    chat.type(`hello${keys.enter}`)
    await chat.shows('Good morning')
    chat.type(`pay me${keys.enter}`)
    await chat.shows('approve?')
    await lives.elsewhere('deny', 'c2', '--who', 'kim', '--reason', 'too much')
    await chat.shows('denied by kim: too much')
    await chat.shows('It says:')
    expect(chat.text()).not.toContain('approve?')
    chat.type(`deploy${keys.enter}`)
    await chat.shows('deploying')
    chat.type(keys.ctrlC)
    await chat.shows('the turn was cancelled')
    chat.type(`hello again${keys.enter}`)
    await chat.shows(/hello again[\s\S]*Good morning/)
    chat.type(keys.ctrlD)
    expect(await chat.exited()).toMatchObject({ exitCode: 0 })
  })

  test('a message that could not be sent is brought back by a key', async () => {
    const url = await serve('0')
    const chat = lives.start('chat', 'c2', '--agent', 'clerk', '--url', url)
    await chat.shows('›')
    await kill()
    await chat.shows('the connection was lost; trying again')
    chat.type(`hello there${keys.enter}`)
    await chat.shows(/could not be reached[\s\S]*the arrow up brings the message back/)
    await serve(new URL(url).port)
    chat.type(keys.up)
    await chat.shows('› hello there')
    chat.type(keys.enter)
    await chat.shows('Good morning')
  })

  test('goes on when the server is killed and started again', async () => {
    const url = await serve('0')
    const chat = lives.start('chat', 'c2', '--agent', 'clerk', '--url', url)
    await chat.shows('›')
    chat.type(`deploy${keys.enter}`)
    await chat.shows('deploying')
    await kill()
    await chat.shows('the connection was lost; trying again')
    await serve(new URL(url).port)
    await chat.shows('connected again')
    await chat.shows('deploy was interrupted and asks what to do')
    chat.type(`r${keys.enter}`)
    await chat.shows('It says:')
  })
})
