import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Statement, statementsOf } from './statements.ts'

/** Something that is declared, under the name it is known by where it is exported. */
export type Declaration = {
  readonly name: string
  readonly kind: 'function' | 'class' | 'const' | 'type'
  /** Where in `src` it is declared. */
  readonly file: string
  readonly doc: string | null
  /** More than one for overloads. */
  readonly code: readonly string[]
}

/** Reads the declaration files the compiler has emitted under a folder, which mirrors `src`. */
export class Declarations {
  readonly #root: string
  readonly #files = new Map<string, readonly Statement[]>()

  constructor(root: string) {
    this.#root = root
  }

  /** What an entry exports, as its `export { ... } from` statements list it. Throws when something cannot be found. */
  exportsOf(entry: string): Declaration[] {
    return this.#statements(entry).flatMap(({ code }) => {
      const { names, from } = /^export (?:type )?\{(?<names>[^}]*)\} from '(?<from>[^']+)'/.exec(code)?.groups ?? {}
      if (names === undefined || from === undefined) return this.#ownExport(entry, code)
      const file = join(dirname(entry), from)
      return namesIn(names).map(({ name, original }) => this.#find(file, original, name))
    })
  }

  /** What these are made of, as far as it is our own and neither among them nor `elsewhere`. */
  behind(declarations: readonly Declaration[], elsewhere: readonly Declaration[]): Declaration[] {
    const known = new Set([...declarations, ...elsewhere].map(keyOf))
    const found: Declaration[] = []
    for (const queue = [...declarations]; queue.length > 0; ) {
      for (const declaration of this.#mentionedBy(queue.shift()!)) {
        if (known.has(keyOf(declaration))) continue
        known.add(keyOf(declaration))
        found.push(declaration)
        queue.push(declaration)
      }
    }
    return found
  }

  #mentionedBy({ file, code }: Declaration): Declaration[] {
    const text = code.join('\n').replaceAll(/\/\*[\s\S]*?\*\/|'[^'\n]*'/g, '')
    const names = new Set([...text.matchAll(/\b[A-Z]\w*/g)].map(([name]) => name))
    const own = new Set(this.#statements(file).map((statement) => declaredName(statement.code)))
    return [...names].flatMap((name) =>
      own.has(name) || this.#broughtIn(file, name) ? [this.#find(file, name, name)] : [],
    )
  }

  #ownExport(entry: string, code: string): Declaration[] {
    const name = code.startsWith('export ') ? declaredName(code) : null
    return name === null ? [] : [this.#find(entry, name, name)]
  }

  #find(file: string, original: string, name: string): Declaration {
    const found = this.#statements(file).filter(({ code }) => declaredName(code) === original)
    const elsewhere = found.length === 0 ? this.#broughtIn(file, original) : null
    if (elsewhere) return this.#find(elsewhere.file, elsewhere.name, name)
    if (found.length === 0) throw new Error(`'${original}' is exported, but ${file} does not declare it.`)
    return {
      name,
      kind: kindOf(found[0]!.code),
      file,
      doc: found.find(({ doc }) => doc !== null)?.doc ?? null,
      code: found.map(({ code }) => tidy(code)),
    }
  }

  /** Where a name comes from that a file only passes on. */
  #broughtIn(file: string, name: string): { file: string; name: string } | null {
    for (const { code } of this.#statements(file)) {
      const { names = '', from = '' } =
        /^(?:import|export) (?:type )?\{(?<names>[^}]*)\} from '(?<from>\.[^']+)'/.exec(code)?.groups ?? {}
      const found = namesIn(names).find((candidate) => candidate.name === name)
      if (found) return { file: join(dirname(file), from), name: found.original }
    }
    return null
  }

  #statements(file: string): readonly Statement[] {
    const known = this.#files.get(file)
    if (known) return known
    const path = join(this.#root, file.replace(/\.ts$/, '.d.ts'))
    if (!existsSync(path)) throw new Error(`There is no ${path}.`)
    const statements = statementsOf(readFileSync(path, 'utf8'))
    this.#files.set(file, statements)
    return statements
  }
}

function keyOf({ file, name }: Declaration): string {
  return `${file}#${name}`
}

function namesIn(list: string): { name: string; original: string }[] {
  const names = list.split(',').map((item) => item.trim().replace(/^type /, ''))
  return names.filter(Boolean).map((item) => {
    const [original, name = original] = item.split(' as ')
    return { name: name!, original: original! }
  })
}

function declaredName(code: string): string | null {
  return (
    /^(?:export )?(?:declare )?(?:abstract )?(?:function|class|const|type|interface) ([\w$]+)/.exec(code)?.[1] ?? null
  )
}

function kindOf(code: string): Declaration['kind'] {
  const kind = /\b(function|class|const|type|interface)\b/.exec(code)![1]!
  return kind === 'interface' ? 'type' : (kind as Declaration['kind'])
}

/** As one would write it: no `export declare`, no semicolons at the ends of lines, two spaces. */
function tidy(code: string): string {
  const indented = code
    .replace(/^(export )?(declare )?/, '')
    .replaceAll(/^( +)/gm, (spaces) => spaces.slice(spaces.length / 2))
  return indented.replaceAll(/;$/gm, '')
}
