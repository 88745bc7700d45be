import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

/** The titles of tests in some sources, also those that are put together from templates. */
export class TestTitles {
  readonly #text: string
  readonly #templates: readonly Template[]

  constructor(files: readonly string[]) {
    this.#text = files.map((file) => readFileSync(join(root, file), 'utf8').replaceAll("\\'", "'")).join('\n')
    this.#templates = templatesIn(this.#text)
  }

  /** Whether a source has this title, or a template that gives it, with parts that the sources have too. */
  has(title: string): boolean {
    if (this.#text.includes(title)) return true
    return this.#templates.some(({ start, pattern }) => {
      const parts = title.startsWith(start) ? pattern.exec(title)?.slice(1) : undefined
      return parts?.every((part) => part.length < 3 || this.#text.includes(unquoted(part))) ?? false
    })
  }
}

/** The sources of all tests: those that end in `.test.ts`, and what they are made of. */
export function testSources(): string[] {
  const all = ['src', 'studio', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  const isSource = (file: string) => /^test\/(?!mutants\/)|^src\/testing\/|\.test\.ts$/.test(file)
  return all.filter((file) => file.endsWith('.ts') && isSource(file))
}

/** A value as `%j` shows it. */
function unquoted(part: string): string {
  return part.replace(/^"(.*)"$/s, '$1')
}

const literal = /(['"`])((?:(?!\1)[^\n])*?(?:%[sjdpi#]|\$\w+|\$\{)(?:(?!\1)[^\n])*)\1/g
const placeholder = /%[sjdpi#]|\\\$\w+|\\\$\\\{.*?\\\}/g

/** `start`: what comes before its first placeholder. */
type Template = { readonly start: string; readonly pattern: RegExp }

function templatesIn(text: string): Template[] {
  const templates = new Set([...text.matchAll(literal)].map((match) => match[2]!))
  return [...templates].flatMap((template) => {
    const pattern = template.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(placeholder, '(.*)')
    // What is all placeholder would give any title.
    if (pattern.replaceAll('(.*)', '').length < 2) return []
    // Where a part repeats a word of the template, only the shortest or only the longest parts are those that were filled in.
    return [pattern, pattern.replaceAll('(.*)', '(.*?)')].map((source) => {
      return { start: template.split(/%[sjdpi#]|\$\w|\$\{/)[0]!, pattern: new RegExp(`^${source}$`, 's') }
    })
  })
}
