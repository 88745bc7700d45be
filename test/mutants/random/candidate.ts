import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Change, changesAt } from './operators.ts'
import { placesIn } from './syntax.ts'

/** A place of the core with the ways to break it. */
export type Site = { readonly file: string; readonly changes: readonly Candidate[] }

/** A bug that could be planted. */
export type Candidate = Change & {
  readonly file: string
  readonly line: number
  /** The line it is in, and what becomes of which part of it: with the file's name this finds it again after lines have moved. */
  readonly code: string
  readonly change: string
  /** Which of those with the same code and change in this file. */
  readonly nth: number
}

export async function sitesIn(root: string, files: readonly string[]): Promise<Site[]> {
  const sites: Site[] = []
  for (const file of files) sites.push(...sitesOfFile(file, await readFile(join(root, file), 'utf8')))
  return sites
}

export function sitesOfFile(file: string, text: string): Site[] {
  const seen = new Map<string, number>()
  return placesIn(file, text).flatMap((place): Site[] => {
    const changes = changesAt(place, text).map((change): Candidate => {
      const candidate = { ...change, file, line: lineAt(text, change.start), ...described(change, text), nth: 0 }
      const nth = seen.get(keyOf(candidate)) ?? 0
      seen.set(keyOf(candidate), nth + 1)
      return { ...candidate, nth }
    })
    return changes.length > 0 ? [{ file, changes }] : []
  })
}

/** What a judgement is kept under: it stays when lines move, or the file moves to another folder, and goes when the code changes. */
export function keyOf({
  file,
  operator,
  code,
  change,
  nth,
}: Pick<Candidate, 'file' | 'operator' | 'code' | 'change' | 'nth'>): string {
  return JSON.stringify([basename(file), operator, code, change, nth])
}

/** The text of a file with the bug in it. */
export function planted({ start, end, replacement }: Change, text: string): string {
  return `${text.slice(0, start)}${replacement}${text.slice(end)}`
}

function described({ start, end, replacement }: Change, text: string): { code: string; change: string } {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1
  const lineEnd = text.indexOf('\n', start)
  const change = `${shortened(text.slice(start, end))} → ${shortened(replacement)}`
  return { code: text.slice(lineStart, lineEnd < 0 ? undefined : lineEnd).trim(), change }
}

function shortened(text: string): string {
  const flat = text.replaceAll(/\s+/g, ' ')
  return flat.length <= 100 ? flat : `${flat.slice(0, 60)} ... ${flat.slice(-35)}`
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}
