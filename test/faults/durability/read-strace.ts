/** One system call of a trace made with `strace -f -y -o`. */
export type Syscall = {
  readonly name: string
  /** The file behind the first argument; for `unlink`, the argument. */
  readonly path: string
  /** Everything between the parentheses. */
  readonly args: string
  readonly result: number
}

export type TraceStep =
  | { readonly type: 'entered'; readonly call: Omit<Syscall, 'result'> }
  | { readonly type: 'returned'; readonly call: Syscall }

/** Reads the calls in the order they were entered and left, which differs where threads overlap. */
export function* readStrace(lines: Iterable<string>): Generator<TraceStep> {
  const unfinished = new Map<string, Omit<Syscall, 'result'>>()
  for (const line of lines) {
    const resumed = /^(\d+) +<\.\.\. (\w+) resumed>.*?\) += (-?\d+)/s.exec(line)
    if (resumed) {
      const [, pid = '', name = '', result] = resumed
      const call = unfinished.get(pid)
      if (call?.name !== name) continue
      unfinished.delete(pid)
      yield { type: 'returned', call: { ...call, result: Number(result) } }
      continue
    }
    const begun = /^(\d+) +(\w+)\((.*)$/s.exec(line)
    if (!begun) continue
    const [, pid = '', name = '', rest = ''] = begun
    const whole = /^(.*)\) += (-?\d+)[^"]*$/s.exec(rest)
    const args = whole ? whole[1]! : rest.replace(/ <unfinished \.\.\.>$/, '')
    const call = { name, args, path: pathOf(args) }
    yield { type: 'entered', call }
    if (whole) yield { type: 'returned', call: { ...call, result: Number(whole[2]) } }
    else unfinished.set(pid, call)
  }
}

function pathOf(args: string): string {
  return /^\d+<([^>]*)>/.exec(args)?.[1] ?? /^"([^"]*)"/.exec(args)?.[1] ?? ''
}
