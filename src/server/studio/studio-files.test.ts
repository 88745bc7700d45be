import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { checkStudioBuilt, studioResponse } from './studio-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-studio-files-'))
const script = 'console.log("the page")'
mkdirSync(join(folder, 'assets'))
writeFileSync(join(folder, 'index.html'), '<!doctype html><base href="/studio/" /><title>Perdure</title>')
writeFileSync(join(folder, 'secret.txt'), 'not for anyone')
writeFileSync(join(folder, 'secret.js'), 'not for anyone')
writeFileSync(join(folder, 'assets', 'index-Ab_1-x.js'), script)
writeFileSync(join(folder, 'assets', 'index-Ab_1-x.js.br'), brotliCompressSync(script))
writeFileSync(join(folder, 'assets', 'index-Ab_1-x.js.gz'), gzipSync(script))
writeFileSync(join(folder, 'assets', 'inter.woff2'), 'font')
writeFileSync(join(folder, 'assets', 'notes.txt'), 'no type')
afterAll(() => rmSync(folder, { recursive: true }))

const get = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
  studioResponse(new Request('http://localhost/', { method, headers }), path, folder)

describe('the page', () => {
  test.each([
    ['', './studio/'],
    ['/', './'],
    ['/inbox', './'],
    ['/inbox/', '../'],
    ['/conversations/a%2Fb', '../'],
    ['/flows/return/r-1', '../../'],
  ])('at %j has the base %j', async (path, base) => {
    expect(await (await get(path)).text()).toContain(`<base href="${base}"`)
    const resolved = new URL(base, `http://localhost/api/studio${path}`).pathname
    expect(resolved).toBe('/api/studio/')
  })

  test('runs only what this server sends, and is shown in no frame', async () => {
    const { headers } = await get('/inbox')
    const policy = headers.get('content-security-policy')!
    expect(policy).toContain("default-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(policy).not.toMatch(/https?:|\*/)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
  })

  test('is asked for again each time, and sent again only when it has changed', async () => {
    const first = await get('/inbox')
    expect(first.headers.get('cache-control')).toBe('no-cache')
    const etag = first.headers.get('etag')!
    for (const known of [etag, `"other", W/${etag}`]) {
      const again = await get('/inbox', { 'if-none-match': known })
      expect([again.status, await again.text()]).toEqual([304, ''])
      expect(again.headers.get('content-security-policy')).toBe(first.headers.get('content-security-policy'))
    }
    expect((await get('/flows/a/b', { 'if-none-match': etag })).status).toBe(200)
  })

  test('has no other methods', async () => {
    await expect(get('/inbox', {}, 'POST')).rejects.toMatchObject({ code: 'method_not_allowed' })
  })
})

describe('a file', () => {
  test.each([
    ['gzip, deflate, br', 'br', brotliCompressSync(script)],
    ['gzip', 'gzip', gzipSync(script)],
    ['br;q=0, gzip;q=0.5', 'gzip', gzipSync(script)],
    ['', null, Buffer.from(script)],
    ['zstd', null, Buffer.from(script)],
  ])('for a browser that accepts %j', async (accepted, encoding, bytes) => {
    const response = await get('/assets/index-Ab_1-x.js', { 'accept-encoding': accepted })
    expect(response.headers.get('content-encoding')).toBe(encoding)
    expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-length': String(bytes.length),
      vary: 'accept-encoding',
    })
  })

  test('without a compressed form is sent as it is', async () => {
    const response = await get('/assets/inter.woff2', { 'accept-encoding': 'br' })
    expect([response.headers.get('content-type'), await response.text()]).toEqual(['font/woff2', 'font'])
  })

  test('has the same headers without its body', async () => {
    const head = await get('/assets/inter.woff2', {}, 'HEAD')
    expect([await head.text(), head.headers.get('content-length')]).toEqual(['', '4'])
  })

  test.each([
    '/assets/missing.js',
    '/assets/',
    '/assets/../secret.js',
    '/assets/..%2fsecret.js',
    '/assets/%2e%2e/secret.txt',
    '/assets/sub/index.js',
    '/assets/..\\secret.txt',
    '/assets/.hidden.js',
    '/assets/notes.txt',
    '/assets/index-Ab_1-x.js.br',
    '/assets/index-Ab_1-x.js\0.js',
  ])('at %j does not exist', async (path) => {
    await expect(get(path)).rejects.toMatchObject({ code: 'route_not_found' })
  })
})

test('nothing but the page is outside of the assets', async () => {
  expect(await (await get('/secret.txt')).text()).toContain('<title>Perdure</title>')
})

test('a missing build says which command builds it, when the server starts and when it is asked', async () => {
  const nothing = join(folder, 'nothing')
  const missing = expect.objectContaining({
    code: 'studio_not_built',
    message: expect.stringContaining('Run npm run build:studio'),
  })
  expect(() => checkStudioBuilt(nothing)).toThrow(missing)
  await expect(studioResponse(new Request('http://localhost/'), '/inbox', nothing)).rejects.toEqual(missing)
})
