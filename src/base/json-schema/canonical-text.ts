import type { Json, JsonObject } from '../json.ts'
import { maxLevels } from './limits.ts'
import { type StepBudget, stepsOfText, TooComplex } from './step-budget.ts'

/** The same text for values that are equal, whatever the order of their keys, and for no others. So equality takes steps by size, not by pairs. */
export function canonicalText(value: Json, steps: StepBudget): string {
  const pieces: string[] = []
  write(value, pieces, steps, 0)
  return pieces.join('')
}

function write(value: Json, pieces: string[], steps: StepBudget, level: number): void {
  if (typeof value !== 'object' || value === null) {
    steps.take(typeof value === 'string' ? 2 * stepsOfText(value) : 1)
    pieces.push(JSON.stringify(value))
    return
  }
  if (level > maxLevels) throw new TooComplex(`a value is nested deeper than ${maxLevels} levels`)
  if (Array.isArray(value)) writeList(value, pieces, steps, level)
  else writeObject(value as JsonObject, pieces, steps, level)
}

function writeList(items: readonly Json[], pieces: string[], steps: StepBudget, level: number): void {
  steps.take(5 + items.length)
  pieces.push('[')
  for (const item of items) {
    write(item, pieces, steps, level + 1)
    pieces.push(',')
  }
  pieces.push(']')
}

function writeObject(value: JsonObject, pieces: string[], steps: StepBudget, level: number): void {
  const keys = Object.keys(value)
  steps.take(10 + 6 * keys.length)
  pieces.push('{')
  for (const key of keys.sort()) {
    steps.take(stepsOfText(key))
    pieces.push(JSON.stringify(key), ':')
    write(value[key]!, pieces, steps, level + 1)
    pieces.push(',')
  }
  pieces.push('}')
}
