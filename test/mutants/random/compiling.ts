import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseSync } from 'oxc-parser'
import type { Workspace } from '../workspace.ts'
import { type Candidate, planted } from './candidate.ts'

/** The first `count` of these with which the sources compile, and how many were passed over before them. */
export async function firstCompiling(
  workspace: Workspace,
  candidates: readonly Candidate[],
  count: number,
): Promise<{ readonly chosen: readonly Candidate[]; readonly passedOver: number }> {
  await writeFile(join(workspace.root, 'tsconfig.core.json'), JSON.stringify(coreConfig))
  const chosen: Candidate[] = []
  let tried = 0
  while (chosen.length < count && tried < candidates.length) {
    const missing = count - chosen.length
    // About half of them compile.
    const next = candidates.slice(tried, tried + 2 * missing + 10)
    const found = (await compiling(workspace, next)).slice(0, missing)
    tried += found.length < missing ? next.length : next.indexOf(found.at(-1)!) + 1
    chosen.push(...found)
  }
  return { chosen, passedOver: tried - chosen.length }
}

/** What is not used is no error: a bug may well leave a name behind. */
const coreConfig = {
  extends: './tsconfig.json',
  compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
  include: ['src'],
  exclude: ['src/**/*.test.ts', 'src/**/*.test-d.ts'],
}

/** Several at a time, at most one in each file, so that the compiler says whose error it is. */
async function compiling(workspace: Workspace, candidates: readonly Candidate[]): Promise<Candidate[]> {
  const good = new Set<Candidate>()
  let left = await parsing(workspace, candidates)
  while (left.length > 0) {
    const batch = [...new Map(left.map((candidate) => [candidate.file, candidate])).values()]
    for (const candidate of await compilingTogether(workspace, batch)) good.add(candidate)
    left = left.filter((candidate) => !batch.includes(candidate))
  }
  return candidates.filter((candidate) => good.has(candidate))
}

/** One that cannot be parsed would keep the compiler from looking at the others. */
async function parsing(workspace: Workspace, candidates: readonly Candidate[]): Promise<readonly Candidate[]> {
  const good: Candidate[] = []
  for (const candidate of candidates) {
    const text = planted(candidate, await readFile(join(workspace.root, candidate.file), 'utf8'))
    if (parseSync(candidate.file, text).errors.length === 0) good.push(candidate)
  }
  return good
}

async function compilingTogether(workspace: Workspace, batch: readonly Candidate[]): Promise<readonly Candidate[]> {
  if (batch.length === 0) return []
  const broken = await filesWithErrors(workspace, batch)
  if (broken.size === 0) return batch
  const rest = batch.filter(({ file }) => !broken.has(file))
  // Errors where bugs are: the others stand. Errors elsewhere may be due to any of them.
  if (rest.length === batch.length - broken.size) return rest
  if (rest.length < batch.length) return compilingTogether(workspace, rest)
  if (batch.length === 1) return []
  // The errors are where the bugs are not: halves tell which one it was.
  const half = Math.ceil(batch.length / 2)
  return [
    ...(await compilingTogether(workspace, batch.slice(0, half))),
    ...(await compilingTogether(workspace, batch.slice(half))),
  ]
}

async function filesWithErrors(workspace: Workspace, batch: readonly Candidate[]): Promise<ReadonlySet<string>> {
  const originals: [string, string][] = []
  try {
    for (const candidate of batch) {
      const path = join(workspace.root, candidate.file)
      const text = await readFile(path, 'utf8')
      originals.push([path, text])
      await writeFile(path, planted(candidate, text))
    }
    const output = await compilerOutput(workspace.root)
    return new Set([...output.matchAll(/^(\S+?)\(\d+,\d+\): error/gm)].map(([, file]) => file!))
  } finally {
    for (const [path, text] of originals) await writeFile(path, text)
  }
}

function compilerOutput(root: string): Promise<string> {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  return new Promise((resolve, reject) => {
    execFile(
      compiler,
      ['-p', 'tsconfig.core.json', '--pretty', 'false'],
      { cwd: root, maxBuffer: 2 ** 28 },
      (error, stdout) => {
        if (error && stdout === '') reject(error)
        else resolve(stdout)
      },
    )
  })
}
