import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readFiles, type SourceFile } from './source-files.ts'

/** Where a text says "nobody" and the like, though the thing it is about has a name. */
export type VagueWord = { readonly path: string; readonly line: number; readonly word: string }

/** How many may be left: in a few places such a word is the plainest. */
export const mostVagueWords = 20

const phrases = ['whoever', 'nobody', 'somebody', 'is to be']

// The words of a phrase may stand on two lines, with the beginning of a comment between them.
const between = String.raw`(?:\s|\n\s*(?:\*|\/\/))+`
const vague = new RegExp(
  String.raw`\b(?:${phrases.map((phrase) => phrase.replaceAll(' ', between)).join('|')})\b`,
  'gi',
)

export function vagueWordsIn({ path, text }: SourceFile): VagueWord[] {
  return [...text.matchAll(vague)].map(({ 0: found, index }) => ({
    path,
    line: text.slice(0, index).split('\n').length,
    word: phrases.find((phrase) => found.toLowerCase().startsWith(phrase.split(' ')[0]!))!,
  }))
}

/** Everything that people read: the sources with their tests, the guides and the reference, and the README. */
export function readTexts(root: string): SourceFile[] {
  const readme = { path: 'README.md', text: readFileSync(join(root, 'README.md'), 'utf8') }
  return [...readFiles(root, 'src', ['.ts', '.tsx']), ...readFiles(root, 'docs', ['.md']), readme]
}
