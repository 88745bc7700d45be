import { expect, test } from 'vitest'
import { safeAddress } from './safe-link.tsx'

test('only pages and mail are linked, and no user name poses as a host', () => {
  expect(safeAddress('https://example.org/a?b')).toBe('https://example.org/a?b')
  expect(safeAddress('mailto:a@b.org')).toBe('mailto:a@b.org')
  const refused = ['javascript:alert(1)', ' javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', '/relative']
  for (const address of [...refused, 'https://bank.org@evil.org/', 'vbscript:x', `https://x.org/${'a'.repeat(5_000)}`])
    expect(safeAddress(address)).toBe(null)
})
