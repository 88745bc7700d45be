import { countLines } from './count-lines.ts'
import { cyclesOf, groupGraph, importersOf, importGraph, longestChain } from './import-graph.ts'
import { mostVagueWords, type VagueWord, vagueWordsIn } from './plain-words.ts'
import { folderOf, roomOf, type SourceFile } from './source-files.ts'

/** What the sources look like from outside. */
export type Figures = {
  readonly folders: number
  readonly files: number
  readonly lines: number
  readonly codeLines: number
  readonly shortFiles: readonly string[]
  /** By file: the one that imports it. */
  readonly oneImporter: Readonly<Record<string, string>>
  readonly chain: readonly string[]
  readonly folderCycles: readonly (readonly string[])[]
  readonly turnFiles: readonly string[]
  readonly httpTurnFiles: readonly string[]
  readonly vagueWords: readonly VagueWord[]
}

const shortBelow = 25

export function figuresOf(
  sources: readonly SourceFile[],
  texts: readonly SourceFile[],
  executed: { readonly inProcess: readonly string[]; readonly overHttp: readonly string[] },
): Figures {
  const counted = sources.map((file) => ({ path: file.path, ...countLines(file) }))
  const total = (key: 'lines' | 'code') => counted.reduce((sum, lines) => sum + lines[key], 0)
  const everything = importGraph(sources)
  const single = [...importersOf(everything)].filter(([, importers]) => importers.length === 1)
  return {
    folders: new Set(sources.map(({ path }) => folderOf(path))).size,
    files: sources.length,
    lines: total('lines'),
    codeLines: total('code'),
    shortFiles: counted.filter(({ lines }) => lines < shortBelow).map(({ path }) => path),
    oneImporter: Object.fromEntries(single.map(([file, importers]) => [file, importers[0]!])),
    // A chain is what Node loads one after the other; the cycles of folders count types, too.
    chain: longestChain(importGraph(sources, ['value'])),
    folderCycles: cyclesOf(groupGraph(everything, roomOf)),
    turnFiles: executed.inProcess,
    httpTurnFiles: executed.overHttp,
    vagueWords: texts.flatMap(vagueWordsIn),
  }
}

export type Row = { readonly name: string; readonly value: number; readonly atMost?: number }

/** The figures as numbers, each beside the most that it should be. */
export function rowsOf(figures: Figures): Row[] {
  return [
    { name: 'folders', value: figures.folders },
    { name: 'files', value: figures.files, atMost: 430 },
    { name: 'lines', value: figures.lines },
    { name: 'lines without comments and blanks', value: figures.codeLines, atMost: 34_500 },
    { name: `files shorter than ${shortBelow} lines`, value: figures.shortFiles.length },
    { name: 'files with one importer', value: Object.keys(figures.oneImporter).length, atMost: 90 },
    { name: 'longest import chain', value: figures.chain.length, atMost: 16 },
    { name: 'cycles between folders', value: figures.folderCycles.length, atMost: 0 },
    { name: "files that send('hi') executes", value: figures.turnFiles.length, atMost: 80 },
    { name: 'files that a turn over HTTP executes', value: figures.httpTurnFiles.length, atMost: 110 },
    { name: 'whoever, nobody, somebody, is to be', value: figures.vagueWords.length, atMost: mostVagueWords },
  ]
}

export function missedTargets(rows: readonly Row[]): Row[] {
  return rows.filter(({ value, atMost }) => atMost !== undefined && value > atMost)
}
