import { appendFileSync } from 'node:fs'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { officialServer } from '../official-server.ts'

/** The official server on standard input and output. What it does is appended to the file in EFFECTS. */
const effects: string[] = []
const file = process.env['EFFECTS']
effects.push = (...told: string[]) => {
  if (file) appendFileSync(file, told.map((line) => `${line}\n`).join(''))
  return 0
}
serveStdio(() => officialServer(effects, process.env['EXTRA'] ? [process.env['EXTRA']] : []))
