import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { callPhase } from '../../log/call-phase.ts'
import { findTurn } from '../../log/state.ts'
import type { PlainChat } from '../chat/plain-chat.ts'

export type WorkerOptions = { readonly storeFile: string; readonly agentName: string }

/** Sends a message that a process of its own works on, and kills that process when it has begun with a tool. */
export async function killInMidTool(
  chat: PlainChat,
  options: WorkerOptions,
): Promise<{ readonly turnId: string; readonly pid: number }> {
  const worker = startWorker(options)
  const exited = once(worker, 'exit')
  try {
    const turnId = await chat.send('How were the sales? A report, please.')
    await chat.until(({ log }) => {
      const turn = findTurn(log, turnId)
      return turn !== null && (turn.end !== null || turn.calls.some((call) => callPhase(call).type === 'started'))
    })
    return { turnId, pid: worker.pid ?? 0 }
  } finally {
    worker.kill('SIGKILL')
    await exited
  }
}

function startWorker({ storeFile, agentName }: WorkerOptions): ChildProcess {
  // The build puts this function into a chunk, and the worker where its source says.
  const path = import.meta.url.endsWith('.ts') ? './story-worker.ts' : '../cli/demo/story-worker.js'
  const program = fileURLToPath(new URL(path, import.meta.url))
  const args = ['--disable-warning=ExperimentalWarning', program, storeFile, agentName]
  // It ends with its standard input, so it does not outlive this process.
  return spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'inherit'] })
}
