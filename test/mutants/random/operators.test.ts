import { expect, test } from 'vitest'
import { keyOf, planted, sitesOfFile } from './candidate.ts'

/** Every way the code can be broken, each as the code it becomes. */
function brokenForms(code: string): string[] {
  return sitesOfFile('src/a/file.ts', code)
    .flatMap(({ changes }) => changes)
    .map((change) => planted(change, code))
}

test.each<[string, string, string[]]>([
  [
    'a condition',
    'const f = () => x ? y : z',
    ['!(x)', 'true', 'false'].map((test) => `const f = () => ${test} ? y : z`),
  ],
  ['a comparison', 'g(a < b)', ['(a <= b)', '(a >= b)'].map((test) => `g(${test})`)],
  ['both sides of and', 'g(a && b)', ['((a) || (b))', '(a)', '(b)'].map((test) => `g(${test})`)],
  ['a default', 'g(a ?? b)', ['g((a))', 'g((b))']],
  ['a small number', 'g(1)', ['g(2)', 'g(0)']],
  ['a limit', 'g(4_096)', ['g(0)', 'g(1)']],
  ['a word that programs read', "g('user_msg')", ["g('mutated')"]],
  ['await', 'g(await h())', ['g((h()))']],
  ['a spread', 'g({ ...a })', ['g({ ...{} })']],
  ['a property', 'g({ a: b })', ['g({ ...{} })']],
  ['a method with a counterpart', 'g(a.some(b))', ['g(a.every(b))']],
  ['a method that can be left out', 'g(a.filter(b))', ['g((a))']],
])('%s is broken', (_, code, forms) => {
  const dropped = brokenForms(code).filter((form) => form !== ';')
  expect(dropped.sort()).toEqual(forms.sort())
})

test('a guard is dropped, and what it would have said stays out of it', () => {
  const forms = brokenForms('function f() {\n  if (a) throw new Error("A sentence for people.")\n  h()\n}')
  expect(forms).toContain('function f() {\n  ;\n  h()\n}')
  expect(forms.some((form) => form.includes('mutated'))).toBe(false)
})

test('types, imports and the places where tests let a process die are left alone', () => {
  const code =
    "import { a } from './a.ts'\ntype B = 'b' | 1\nconst c = (d: { e: 'e' }): 'f' => failpoint('owner.before_park') as 'g'"
  expect(brokenForms(code)).toEqual([])
  expect(brokenForms("failpoint('owner.before_park')")).toEqual([])
})

test('what a log line tells people is left alone, and that it is written is not', () => {
  const code = "this.#logger.warn('it failed', { ...ref, id, error: describe(error) })"
  expect(brokenForms(code)).toEqual([';'])
  expect(brokenForms("node.warnOfStore('it failed', { tenant: a })")).toEqual([';'])
  expect(brokenForms("tell('it failed', { tenant: a })")).toContain("tell('it failed', { ...{} })")
})

test('an await of what an async function returns is left alone, unless something is done with it there', () => {
  const left = (code: string) => brokenForms(code).filter((form) => !form.includes('await'))
  expect(left('const f = async () => await g()')).toEqual([])
  expect(left('async function f() { return await g() }')).toEqual(['async function f() {}'])
  expect(left('const f = async () => (await g())')).toEqual([])
  const one = (code: string) => brokenForms(code).some((form) => form.includes('(g())'))
  expect(one('async function f() { return a ? b : await g() }')).toBe(false)
  expect(one('async function f() { return a ?? (await g()) }')).toBe(false)
  expect(one('async function f() { return (await g()) ?? a }')).toBe(true)
  expect(one('async function f() { return [await g()] }')).toBe(true)
  expect(one('async function f() { try { return await g() } catch {} }')).toBe(true)
  expect(one('async function f() { try { h(async () => { return await g() }) } catch {} }')).toBe(false)
  expect(one('async function f() { await g() }')).toBe(true)
})

test('the name under which a connection keeps a statement is left alone, and its text is not', () => {
  const forms = brokenForms("g({ name: 'put', text: `PUT` })")
  expect(forms.some((form) => form.includes('mutated'))).toBe(false)
  expect(brokenForms("g({ name: 'put' })")).toContain("g({ name: 'mutated' })")
})

test('what a bug is known by stays when lines move and the file is moved, and goes when the code changes', () => {
  const [site] = sitesOfFile('src/a/file.ts', 'g(a < b)')
  const [moved] = sitesOfFile('src/other/room/file.ts', '\n// Why.\n\ng(a < b)')
  const [changed] = sitesOfFile('src/a/file.ts', 'g(a < b + 1)')
  expect(keyOf(moved!.changes[0]!)).toBe(keyOf(site!.changes[0]!))
  expect(keyOf(changed!.changes[0]!)).not.toBe(keyOf(site!.changes[0]!))
})

test('the same line twice in a file has bugs of its own each time', () => {
  const keys = sitesOfFile('src/a/file.ts', 'g(a < b)\ng(a < b)')
    .flatMap(({ changes }) => changes)
    .map(keyOf)
  expect(new Set(keys).size).toBe(keys.length)
})
