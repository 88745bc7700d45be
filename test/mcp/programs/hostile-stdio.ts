import { hostileAnswer, readAttack } from '../hostile.ts'

/** A hostile server on standard output: ATTACK says how it answers. */
const attack = readAttack(process.env['ATTACK'] ?? '')
let rest = ''
process.stdin.on('data', (chunk) => {
  rest += String(chunk)
  const lines = rest.split('\n')
  rest = lines.pop() ?? ''
  for (const line of lines) {
    for (const part of hostileAnswer(JSON.parse(line), attack)) {
      if (part === 'endless') endless()
      else process.stdout.write(`${part}\n`)
    }
  }
})
process.stdin.on('end', () => process.exit(0))
process.stdout.on('error', () => process.exit(0))

function endless(): void {
  const chunk = 'x'.repeat(65_536)
  const more = (): void => {
    while (process.stdout.write(chunk));
    process.stdout.once('drain', more)
  }
  more()
}
