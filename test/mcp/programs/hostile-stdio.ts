import { writeFileSync } from 'node:fs'
import { type Flood, hostileAnswer, neverReads, readAttack } from '../hostile.ts'

/** A hostile server on standard output: ATTACK says how it answers, and PID_FILE where it writes its process id. */
const attack = readAttack(process.env['ATTACK'] ?? '')
if (process.env['PID_FILE']) writeFileSync(process.env['PID_FILE'], String(process.pid))
let rest = ''
process.stdin.on('data', (chunk) => {
  rest += String(chunk)
  const lines = rest.split('\n')
  rest = lines.pop() ?? ''
  for (const line of lines) {
    for (const part of hostileAnswer(JSON.parse(line), attack)) {
      if (typeof part === 'object') pour(part)
      else if (part === 'failure') process.exit(1)
      else process.stdout.write(`${part}\n`)
    }
  }
})
process.stdin.on('end', () => process.exit(0))
process.stdout.on('error', () => process.exit(0))

function pour({ flood, everyMs }: Flood): void {
  if (everyMs !== undefined) return void setInterval(() => process.stdout.write(flood), everyMs)
  // Its pipe fills with what nobody reads. It ends when it can no longer write.
  if (neverReads(attack)) process.stdin.removeAllListeners('end').pause()
  const chunk = flood.repeat(Math.ceil(65_536 / flood.length))
  const more = (): void => {
    while (process.stdout.write(chunk));
    process.stdout.once('drain', more)
  }
  more()
}
