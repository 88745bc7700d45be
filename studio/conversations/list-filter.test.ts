import { expect, test } from 'vitest'
import { asked, isNarrowed, readFilter, withFilter } from './list-filter.ts'

test('a filter is what its address says, and the server is asked for it', () => {
  const search = withFilter(new URLSearchParams('status=waiting'), { owner: 'ann', text: ' lamp ' })
  expect(search.toString()).toBe('status=waiting&owner=ann&text=+lamp+')
  const filter = readFilter(search)
  expect(asked(filter)).toEqual({ kind: 'conversation', limit: 200, text: 'lamp', status: 'waiting', owner: 'ann' })
  expect(isNarrowed(filter)).toBe(true)
})

test('a status that does not exist counts as none, and an empty value leaves the address', () => {
  expect(isNarrowed(readFilter(new URLSearchParams('status=angry')))).toBe(false)
  expect(withFilter(new URLSearchParams('agent=a'), { agent: '' }).toString()).toBe('')
})
