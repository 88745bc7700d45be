import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { withFolder } from '../harness/with-target.ts'
import { canRun } from './can-run.ts'
import type { Fault } from './endure.ts'

const run = promisify(execFile)

export type SmallDisk = { readonly kind: 'mount' | 'limit'; readonly folder: string; readonly full: Fault }

const diskBytes = 16 * 1024 * 1024

/** Lends a disk that can be full: a small file system of its own, or, where that is not permitted, a limit on the size of files. Null: neither works. */
export async function withSmallDisk<T>(
  use: (disk: SmallDisk) => Promise<T>,
  kinds: readonly SmallDisk['kind'][] = ['mount', 'limit'],
): Promise<T | null> {
  return withFolder(async (parent) => {
    const folder = join(parent, 'disk')
    await mkdir(folder)
    if (kinds.includes('mount') && (await mounts(folder))) {
      try {
        return await use({ kind: 'mount', folder, full: ballast(folder) })
      } finally {
        await run('umount', [folder])
      }
    }
    if (!(await canRun('prlimit'))) return null
    return use({ kind: 'limit', folder, full: fileSizeLimit() })
  })
}

async function mounts(folder: string): Promise<boolean> {
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'tmpfs', folder])
    return true
  } catch {
    return false
  }
}

/** Fills what is left of the disk. */
function ballast(folder: string): Fault {
  const file = join(folder, 'ballast')
  return {
    async begin() {
      for (let bytes = diskBytes; bytes >= 512; bytes = Math.floor(bytes / 2)) {
        await writeFile(file, Buffer.alloc(bytes), { flag: 'a' }).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'ENOSPC') throw error
        })
      }
    },
    end: () => rm(file),
  }
}

/** Node ignores the signal that comes with it, so writing past the limit is an error like that of a full disk. */
function fileSizeLimit(): Fault {
  const limit = async (pid: number, soft: string): Promise<void> => {
    await run('prlimit', ['--pid', String(pid), `--fsize=${soft}:unlimited`])
  }
  return {
    begin: ({ child }) => limit(child.pid, '4096'),
    end: ({ child }) => limit(child.pid, 'unlimited'),
  }
}
