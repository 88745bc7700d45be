import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A file of the package, by its path from the root of the repository. */
export type SourceFile = { readonly path: string; readonly text: string }

/** The files of a folder whose names end in one of `endings`, in order; with the folders inside it. */
export function readFiles(root: string, folder: string, endings: readonly string[]): SourceFile[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => endings.some((ending) => path.endsWith(ending)))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/** The sources that are shipped: everything in `src` but its tests. */
export function readSources(root: string): SourceFile[] {
  return readFiles(root, 'src', ['.ts', '.tsx']).filter(({ path }) => !isTest(path))
}

/** Tests of behaviour, and tests of types. */
export function isTest(path: string): boolean {
  return /\.test(-d)?\.tsx?$/.test(path)
}

/** The folder a path is in: `src/store/memory` for `src/store/memory/memory-store.ts`. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'))
}

/** The folder directly in `src` that a path is in; files that lie in `src` itself are `src`. */
export function roomOf(path: string): string {
  return path.split('/').slice(0, -1).slice(0, 2).join('/')
}
