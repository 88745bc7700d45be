import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Whether a program is installed. */
export async function canRun(command: string): Promise<boolean> {
  try {
    await promisify(execFile)(command, ['--version'])
    return true
  } catch {
    return false
  }
}
